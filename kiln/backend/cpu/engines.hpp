// Kernels that a program may lack: those of oneDNN, and those for bfloat16 on Intel's tiles or on AVX-512's vectors of
// pairs. conv/choose.hpp and matmul/choose.hpp decide which calls they compute.
#pragma once
#include "kiln/backend/cpu/epilogue.hpp"
#include "kiln/ops/backend.hpp"

namespace kiln::cpu {

namespace conv {
enum class Pass : std::int64_t;
struct Geometry;
struct ConvOperand;
}  // namespace conv

/// The passes of a convolution. Images are in channels-last order, weights and biases in row-major order. The pass
/// gives its result memory.
struct ConvKernels {
  /// `bias` is empty where there is none. Where there is an epilogue it receives the pieces of y, and y gets no memory.
  void (*forward)(const conv::Geometry&, const conv::ConvOperand& x, const conv::ConvOperand& weight,
                  const conv::ConvOperand& bias, Value& y, const Epilogue* epilogue);
  void (*data)(const conv::Geometry&, const conv::ConvOperand& y, const conv::ConvOperand& weight, Value& x);
  void (*weight)(const conv::Geometry&, const conv::ConvOperand& x, const conv::ConvOperand& y, Value& weight);
};

struct OnednnKernels {
  /// Whether oneDNN has a kernel for the pass that is faster than a plain loop, and correct (onednn/mistakes.hpp).
  bool (*has_conv)(conv::Pass, const conv::Geometry&, DType, bool with_bias);
  ConvKernels conv;
  /// Whether oneDNN has more than plain loops for bfloat16 on this processor.
  bool (*has_bf16)();
  /// Whether oneDNN multiplies matrices of this type as they are, and correctly, with sums over `depth`.
  bool (*has_matmul)(DType, std::int64_t depth);
  void (*matmul)(Call);
};

/// Kernels for bfloat16, which sum in float32.
struct AmxKernels {
  bool (*available)();      // whether the processor multiplies vectors of pairs, which all of this needs
  bool (*has_tiles)();      // whether it multiplies tiles as well
  bool (*reports_tiles)();  // whether it reports tiles where oneDNN looks for them
  ConvKernels conv;
  /// Whether the pieces of this convolution are wide enough for an epilogue.
  bool (*has_wide_pieces)(const conv::Geometry&);
  /// Returns false, without any effect, where there is an epilogue and the pieces are too narrow for it.
  bool (*matmul)(Call, const Epilogue* epilogue);
};

/// Defined in programs that are linked with these kernels.
[[gnu::weak]] const OnednnKernels& onednn_kernels();
[[gnu::weak]] const AmxKernels& amx_engine();

/// Returns null where the program lacks the kernels, or the processor the instructions.
const OnednnKernels* linked_onednn();
const AmxKernels* linked_amx();

}  // namespace kiln::cpu

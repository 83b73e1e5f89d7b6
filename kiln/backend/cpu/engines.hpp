// Kernels that a program may lack: those of oneDNN, and those for bfloat16 on Intel's tiles or on AVX-512's vectors of
// pairs. conv/choose.hpp and matmul/choose.hpp say which calls they compute; they ask nobody.
#pragma once
#include "kiln/backend/cpu/epilogue.hpp"
#include "kiln/ops/backend.hpp"

namespace kiln::strided {
struct Array;
}

namespace kiln::cpu {

using strided::Array;

namespace conv {
enum class Pass : std::int64_t;
struct Geometry;
struct Operand;
}  // namespace conv

/// The passes of a convolution. Images lie in channels-last order, weights and biases in row-major order; the result is
/// given memory.
struct ConvKernels {
  /// `bias` has no value where there is none. Where there is an epilogue it gets the pieces of y, which gets no memory.
  void (*forward)(const conv::Geometry&, const conv::Operand& x, const conv::Operand& weight, const conv::Operand& bias,
                  Value& y, const Epilogue* epilogue);
  void (*data)(const conv::Geometry&, const conv::Operand& y, const conv::Operand& weight, Value& x);
  void (*weight)(const conv::Geometry&, const conv::Operand& x, const conv::Operand& y, Value& weight);
};

struct OnednnKernels {
  /// Has oneDNN a kernel for the pass that is quicker than a plain loop and right (onednn/mistakes.hpp)?
  bool (*has_conv)(conv::Pass, const conv::Geometry&, DType, bool with_bias);
  ConvKernels conv;
  /// It has more than plain loops for bfloat16 on this processor.
  bool (*has_bf16)();
  /// Does it multiply matrices of this type as they are, and rightly, with sums over `depth`?
  bool (*has_matmul)(DType, std::int64_t depth);
  void (*matmul)(Call);
  /// Copies images into another order.
  void (*reorder)(const Array& from, const Array& to);
};

/// All of bfloat16, summed in float32.
struct AmxKernels {
  bool (*available)();        // the processor multiplies vectors of pairs, on which everything here runs
  bool (*has_tiles)();        // it multiplies tiles as well
  bool (*describes_tiles)();  // and says so where oneDNN looks for it
  ConvKernels conv;
  ConvKernels windows;              // of windows that are gathered beforehand; without bias, and without `data`
  std::int64_t most_window_places;  // of a kernel whose windows can be gathered
  /// Are the pieces of this convolution wide enough to be handed to an epilogue?
  bool (*has_wide_pieces)(const conv::Geometry&);
  /// False where there is an epilogue and pieces are too narrow for it; nothing has happened then.
  bool (*matmul)(Call, const Epilogue* epilogue);
};

/// Defined where a program is linked with them.
[[gnu::weak]] const OnednnKernels& onednn_kernels();
[[gnu::weak]] const AmxKernels& amx_engine();

/// Null where a program has none, or the processor lacks the instructions.
const OnednnKernels* linked_onednn();
const AmxKernels* linked_amx();

}  // namespace kiln::cpu

// Pointwise kernels: a thread takes as many neighbours as it can load at once, for any strides.
#pragma once
#include <optional>

#include "kiln/backend/gpu/family/index.hpp"

namespace kiln::gpu::family {

/// The layout of the operands of such a kernel.
struct PointwiseShape {
  std::vector<Layout> inputs{};
  DType index = DType::I32;
  int rank = 0, width = 1;
  int vectors = 1;        // vectors of `width` elements per thread
  bool in_place = false;  // may an output share the memory of an input?
  friend bool operator==(const PointwiseShape&, const PointwiseShape&) = default;
};

/// The body of such a kernel. Its parameters are the inputs, the outputs, and their sizes and strides; then come the
/// family's own.
class Pointwise {
 public:
  static constexpr int kThreads = 256;
  Pointwise(Builder& k, const PointwiseShape& shape, std::span<const DType> inputs, std::span<const DType> outputs);
  /// `element` computes the outputs from the loaded inputs.
  void run(FunctionRef<std::vector<Expr>(std::span<const Expr> loaded)> element);

 private:
  Builder& k_;
  const PointwiseShape& shape_;
  std::vector<Buffer> inputs_, outputs_;
  std::vector<Expr> numbers_;
  Expr items_;
  std::optional<Offsets> places_;
};

/// An operand of a family's kernel: a tensor, or a number.
struct PointwiseOperand {
  Array array{};
  std::optional<Argument> number{};
};

/// Inputs that broadcast to `shape`, and outputs of that shape which all have the same memory order.
struct PointwiseLaunch {
  PointwiseShape shape;
  std::int64_t items = 0, blocks = 0;
  std::vector<Argument> arguments{};
  PointwiseLaunch(const Shape& shape, std::span<const PointwiseOperand> inputs, std::span<const Array> outputs);
  /// Lets a thread take two vectors, and load both first, if there are many items: that suits expensive steps.
  void take_two();
};

/// Launches the kernel of `source`, which has a field `PointwiseShape shape`; `own` are the family's own arguments.
template <KernelSource Source>
void pointwise(Gpu& gpu, Source source, const Shape& shape, const std::vector<PointwiseOperand>& inputs,
               const std::vector<Array>& outputs, std::initializer_list<Argument> own = {}) {
  if (numel(shape) == 0) return;
  PointwiseLaunch launch(shape, inputs, outputs);
  source.shape = std::move(launch.shape);
  launch.arguments.insert(launch.arguments.end(), own);
  gpu.launch(source, launch.blocks, launch.arguments);
}

}  // namespace kiln::gpu::family

// Kernels that reduce arrays along some of their dimensions in a tree of threads, for any reduction: sums, places of
// extremes, moments. If there are too few results to fill the device, several blocks share each, and a second kernel
// combines their states. The order of additions depends on sizes and strides alone, so that results are reproducible
// bit for bit.
#pragma once
#include <functional>
#include <optional>

#include "kiln/backend/gpu/family/pointwise.hpp"
#include "kiln/ops/reduce/reduce_ops.hpp"

namespace kiln::gpu::family {

using Exprs = std::vector<Expr>;
using Merge = std::function<Exprs(const Exprs&, const Exprs&)>;

/// A reduction as functions of a thread's state, which is a list of values.
struct Folding {
  std::function<Exprs()> nothing;
  /// The state after one more element, the `place`th (uint32) of those that are reduced.
  std::function<Exprs(const Exprs& state, const Exprs& element, const Expr& place)> add;
  /// Combines the states of two threads after settle(), in any order.
  Merge merge;
  std::function<Exprs(const Exprs& state)> settle = [](const Exprs& state) { return state; };
};

/// Reduces elements of `dtype` by a function of op::Reduce.
struct Reduction {
  op::ReduceFn fn;
  DType dtype;
};
/// Several reductions at once: a state has one value for each, and so has an element.
Folding reductions(Builder& k, std::vector<Reduction> all);
std::vector<DType> accumulators(std::span<const Reduction> all);
/// The result of a reduction in `dtype`, from the state of `count` elements; `count` is a number of its accumulator's
/// type.
Expr finished(Builder& k, const Reduction& reduction, const Expr& state, const Expr& count, DType dtype);

/// Combines the states of the threads that share a row: `lanes` neighbours, at most a warp, or all of the block. All of
/// them get the result.
Exprs fold_lanes(Builder& k, int lanes, Exprs state, const Merge& merge);

/// How a kernel distributes its work.
struct FoldShape {
  // Whole: everything at once; Begin: a part per block; End: the combination of these parts.
  enum class Stage : std::uint8_t { Whole, Begin, End };
  Stage stage = Stage::Whole;
  std::vector<Layout> inputs{};
  DType index = DType::I32;
  int kept = 0, folded = 0;  // dimensions
  int width = 1;             // neighbours that a thread takes at once: reduced ones, or, for columns, kept ones
  int lanes = 1;             // threads that share a row, adjacent, or a column, a row of threads apart
  bool columns = false;
};

/// The body of such a kernel. Its parameters are the inputs and outputs (or, in the last stage, the states), the states
/// that it writes in the first stage, and their sizes and strides; then come the family's own.
class Folder {
 public:
  static constexpr int kThreads = 256;
  Folder(Builder& k, const FoldShape& shape, std::span<const DType> inputs, std::span<const DType> outputs,
         std::span<const DType> state);
  /// `element` computes an element to reduce from the loaded inputs, followed by the outputs at its place, if any.
  /// `finish` gets the final state, and the offset of the result; one thread runs it.
  void run(const Folding& folding, FunctionRef<Exprs(const Exprs& loaded)> element,
           FunctionRef<void(const Exprs& state, const Expr& to)> finish);

 private:
  struct FoldRow {
    Expr number, split, to;
    Exprs bases;  // where each array begins
    Expr writes;  // does this thread store the result?
  };
  void take(const FoldRow& row, const Expr& step, int unroll, FunctionRef<Exprs(const Exprs&)> element,
            std::span<const std::vector<Local>> states, const Folding& folding);
  void tell(const FoldRow& row, int lane, const Exprs& state, FunctionRef<void(const Exprs&, const Expr&)> finish);
  std::vector<Exprs> fold_columns(const std::vector<Exprs>& states, const Merge& merge);

  Builder& k_;
  const FoldShape& shape_;
  std::vector<Buffer> inputs_, outputs_, states_;
  Exprs numbers_;
  Expr rows_, steps_, chunk_, splits_;
  std::optional<Offsets> kept_, folded_;
  std::vector<std::vector<Shared>> shared_;  // by column and part
};

/// What is reduced: `dims` of inputs that broadcast to `shape`. Outputs have that shape; the results, all with the same
/// layout, keep the reduced dimensions with size 1.
struct FoldCall {
  Shape shape;
  Dims dims{};
  std::vector<PointwiseOperand> inputs{};
  std::vector<Array> outputs{};
  Array result{};
};

struct FoldLaunch {
  FoldShape shape;
  std::int64_t blocks = 0;
  std::vector<Argument> arguments{};
  std::vector<Value> held{};  // scratch between two launches
};
/// Launches nothing if there are no results, otherwise one or two kernels.
std::vector<FoldLaunch> plan_fold(Gpu& gpu, const FoldCall& call, std::span<const DType> state);

/// Launches the kernels of `source`, which has a field `FoldShape shape`; `own` are the family's own arguments.
template <KernelSource Source>
void fold(Gpu& gpu, Source source, const FoldCall& call, std::span<const DType> state, std::span<const Argument> own) {
  for (FoldLaunch& each : plan_fold(gpu, call, state)) {
    source.shape = std::move(each.shape);
    each.arguments.insert(each.arguments.end(), own.begin(), own.end());
    gpu.launch(source, each.blocks, each.arguments);
  }
}

template <KernelSource Source>
void fold(Gpu& gpu, const Source& source, const FoldCall& call, std::span<const DType> state,
          std::initializer_list<Argument> own) {
  fold(gpu, source, call, state, std::span(own.begin(), own.size()));
}

}  // namespace kiln::gpu::family

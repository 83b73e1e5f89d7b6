// Kernels that fold arrays along some of their dimensions in a tree of threads, whatever is folded: sums, the places of
// extremes, moments. Where there are too few results to fill the device, several blocks share each, and a second kernel
// folds what they made. Who adds to whom depends on sizes and strides alone, so that results are the same bits every time.
#pragma once
#include <functional>
#include <optional>

#include "kiln/backend/gpu/family/pointwise.hpp"
#include "kiln/ops/reduce/reduce_ops.hpp"

namespace kiln::gpu::family {

using Exprs = std::vector<Expr>;
using Merge = std::function<Exprs(const Exprs&, const Exprs&)>;

/// What a thread does with elements; states have parts.
struct Folding {
  std::function<Exprs()> nothing;
  /// The state with one more element, the `place`th (uint32) of those that are folded.
  std::function<Exprs(const Exprs& state, const Exprs& element, const Expr& place)> add;
  /// The states of two threads, once they are settled; in any order.
  Merge merge;
  std::function<Exprs(const Exprs& state)> settle = [](const Exprs& state) { return state; };
};

/// Elements of `dtype` folded by a function of op::Reduce.
struct Reduction {
  op::ReduceFn fn;
  DType dtype;
};
/// Several at once: a state has a part for each, and so has an element.
Folding reductions(Builder& k, std::vector<Reduction> all);
std::vector<DType> accumulators(std::span<const Reduction> all);
/// The result of one, of what `count` elements, a number of its accumulator, were folded to; as it is stored in `dtype`.
Expr finished(Builder& k, const Reduction& reduction, const Expr& state, const Expr& count, DType dtype);

/// Folds the states of the threads that share a row: `lanes` neighbours, at most a warp, or all of the block. All of them
/// get the result.
Exprs fold_lanes(Builder& k, int lanes, Exprs state, const Merge& merge);

/// How a kernel deals work out.
struct FoldShape {
  enum class Stage : std::uint8_t { Whole, Begin, End };  // all; a part by each block; what those made
  Stage stage = Stage::Whole;
  std::vector<Lies> inputs{};
  DType index = DType::I32;
  int kept = 0, folded = 0;  // dimensions
  int width = 1;             // neighbours that a thread takes at once: folded ones, or, in columns, kept ones
  int lanes = 1;             // threads that share a row, side by side, or a column, a row of threads apart
  bool columns = false;
};

/// The body of such a kernel. Its parameters are the inputs and outputs (or, at the end, the states), the states that it
/// makes to begin with, and where all lie; then come the family's own.
class Folder {
 public:
  static constexpr int kThreads = 256;
  Folder(Builder& k, const FoldShape& shape, std::span<const DType> inputs, std::span<const DType> outputs,
         std::span<const DType> state);
  /// `element` makes an element to fold of what is loaded, then the outputs of its place, if there are any. `finish` gets
  /// what all made, and where the result lies; one thread does that.
  void run(const Folding& folding, FunctionRef<Exprs(const Exprs& loaded)> element,
           FunctionRef<void(const Exprs& state, const Expr& to)> finish);

 private:
  struct Row {
    Expr number, split, to;
    Exprs bases;  // where each array begins
    Expr writes;  // is this the thread that tells of it?
  };
  void take(const Row& row, const Expr& step, int unroll, FunctionRef<Exprs(const Exprs&)> element,
            std::span<const std::vector<Local>> states, const Folding& folding);
  void tell(const Row& row, int lane, const Exprs& state, FunctionRef<void(const Exprs&, const Expr&)> finish);
  Exprs fold_columns(const Exprs& state, const Merge& merge);

  Builder& k_;
  const FoldShape& shape_;
  std::vector<Buffer> inputs_, outputs_, states_;
  Exprs numbers_;
  Expr rows_, steps_, chunk_, splits_;
  std::optional<Places> kept_, folded_;
  std::vector<Shared> shared_;
};

/// What is to be folded: `dims` of inputs that broadcast to `shape`. Outputs have that shape; the results, all alike, keep
/// the folded dimensions with size 1.
struct FoldCall {
  Shape shape;
  Dims dims{};
  std::vector<Operand> inputs{};
  std::vector<Array> outputs{};
  Array result{};
};

struct FoldLaunch {
  FoldShape shape;
  std::int64_t blocks = 0;
  std::vector<Argument> arguments{};
  std::vector<Value> held{};  // what lies between two launches
};
/// No launch where there is no result, otherwise one or two.
std::vector<FoldLaunch> plan_fold(Gpu& gpu, const FoldCall& call, std::span<const DType> state);

/// Launches the kernels of `source`, which has a FoldShape named `shape`; `own` are the arguments of the family.
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

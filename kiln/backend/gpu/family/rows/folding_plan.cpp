// How reductions are distributed over threads.
#include <algorithm>
#include <bit>
#include <numeric>

#include "kiln/backend/gpu/family/rows/folding.hpp"

namespace kiln::gpu::family {
namespace {

using Stage = FoldShape::Stage;

constexpr int kFoldThreads = Folder::kThreads;
/// Blocks per multiprocessor, and the fewest steps per thread when several blocks share a row.
constexpr std::int64_t kBlocks = 8, kLeastSteps = 8;

/// The loops of a kernel over its arrays: inputs, outputs, and a result, which has no reduced dimensions.
struct Loops {
  Loop kept, folded;
  std::vector<Array> arrays;
};

/// A sort key of strides: dimensions with stride 0 come first.
std::int64_t rank_of(std::int64_t stride) {
  return stride == 0 ? std::numeric_limits<std::int64_t>::max() : std::abs(stride);
}

/// The array whose memory order decides the order of the loops: the one with the most elements.
std::size_t lead_of(const std::vector<Array>& arrays) {
  const auto elements = [](const Array& array) {
    double count = 1;
    for (int dim = 0; dim < array.shape.size(); ++dim)
      if (array.strides[dim] != 0) count *= static_cast<double>(array.shape[dim]);
    return count;
  };
  std::size_t lead = 0;
  for (std::size_t a = 1; a < arrays.size(); ++a)
    if (elements(arrays[a]) > elements(arrays[lead])) lead = a;
  return lead;
}

/// A loop over some dimensions of arrays of one shape, in the memory order of one of them.
Loop loop_over(std::vector<int> dims, const Shape& shape, const std::vector<Array>& arrays, const Dims& lead) {
  std::ranges::stable_sort(dims, [&](int a, int b) { return rank_of(lead[a]) > rank_of(lead[b]); });
  std::vector<Dims> strides;
  for (const Array& array : arrays) strides.push_back(array.strides);
  return merged(shape, strides, Dims(dims.begin(), dims.end()));
}

Loops loops_of(const FoldCall& call, std::vector<Array> arrays) {
  std::vector<int> kept, folded;
  for (int dim = 0; dim < call.shape.size(); ++dim)
    (std::ranges::find(call.dims, dim) == call.dims.end() ? kept : folded).push_back(dim);
  const bool empty = std::ranges::any_of(folded, [&](int dim) { return call.shape[dim] == 0; });
  const std::size_t lead = arrays.empty() ? 0 : lead_of(arrays);
  arrays.push_back(call.result);
  for (const int dim : folded) arrays.back().strides[dim] = 0;
  const Dims order = arrays[lead].strides;
  Loops loops{loop_over(kept, call.shape, arrays, order), loop_over(folded, call.shape, arrays, order),
              std::move(arrays)};
  if (empty) {  // the product of the other sizes may overflow
    loops.folded.sizes = {0};
    for (Dims& strides : loops.folded.strides) strides = {0};
  }
  return loops;
}

/// Both loops as one; the dimensions of `inner` run faster.
Loop joined(const Loop& outer, const Loop& inner, std::size_t arrays) {
  Loop all = outer;
  all.strides.resize(arrays);
  for (const std::int64_t size : inner.sizes) all.sizes.push_back(size);
  for (std::size_t a = 0; a < arrays; ++a)
    for (const std::int64_t stride : inner.strides[a]) all.strides[a].push_back(stride);
  return all;
}

std::int64_t power_up_to(std::int64_t most) {
  return static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(std::max<std::int64_t>(most, 1))));
}

/// Threads per row, and chunks of each row, for `rows` rows of `steps` steps.
struct FoldSchedule {
  std::int64_t rows, steps;
  int lanes;
  std::int64_t chunk, splits;

  FoldSchedule(const Loops& loops, const FoldShape& shape, std::int64_t multiprocessors)
      : rows(numel(loops.kept.sizes) / (shape.columns ? shape.width : 1)),
        steps(numel(loops.folded.sizes) / (shape.columns ? 1 : shape.width)),
        chunk(steps),
        splits(1) {
    const std::int64_t wanted = multiprocessors * kBlocks;
    if (shape.columns) {
      const std::int64_t beside = std::min<std::int64_t>(32, power_up_to(2 * rows - 1));
      lanes = static_cast<int>(std::clamp<std::int64_t>(power_up_to(steps / 4), 1, kFoldThreads / beside));
    } else {
      const bool long_rows = steps >= 4 * kFoldThreads || (steps >= kFoldThreads && rows < wanted * 4);
      lanes = long_rows ? kFoldThreads : static_cast<int>(std::clamp<std::int64_t>(power_up_to(steps / 4), 1, kLanes));
    }
    if (shape.stage == Stage::End || (!shape.columns && lanes < kFoldThreads)) return;
    const std::int64_t most = std::min(wanted / blocks(), steps / (lanes * kLeastSteps));
    if (most < 2) return;
    const std::int64_t round = lanes * kLeastSteps;
    chunk = (steps + most - 1) / most;
    chunk = (chunk + round - 1) / round * round;
    splits = (steps + chunk - 1) / chunk;
  }
  std::int64_t blocks() const { return blocks_for(rows, kFoldThreads / lanes); }
};

FoldShape shape_of(const Loops& loops, std::span<const PointwiseOperand> inputs, Stage stage) {
  FoldShape shape{.stage = stage};
  const std::size_t result = loops.arrays.size() - 1;
  const std::size_t lead = result == 0 ? 0 : lead_of({loops.arrays.begin(), loops.arrays.end() - 1});
  const auto inner = [&](const Loop& loop) {
    return loop.sizes.empty() ? std::numeric_limits<std::int64_t>::max() : rank_of(loop.strides[lead].back());
  };
  shape.columns = loops.folded.sizes.empty() || inner(loops.kept) < inner(loops.folded);
  const Loop& vectors = shape.columns ? loops.kept : loops.folded;
  shape.index = index_type(joined(loops.kept, loops.folded, loops.arrays.size()));
  shape.kept = loops.kept.sizes.size();
  shape.folded = loops.folded.sizes.size();
  if (!vectors.sizes.empty() && stage != Stage::End) {
    const std::size_t arrays = result + (shape.columns ? 1 : 0);
    shape.width = width_of(joined(shape.columns ? loops.folded : loops.kept, vectors, arrays),
                           std::span(loops.arrays).first(arrays));
  }
  std::size_t array = 0;
  for (const PointwiseOperand& input : inputs) {
    const bool repeated = shape.width > 1 && !input.number && vectors.strides[array].back() == 0;
    shape.inputs.push_back(input.number       ? Layout::Number
                           : shape.width == 1 ? Layout::Apart
                           : repeated         ? Layout::Repeated
                                              : Layout::InLine);
    if (!input.number) ++array;
  }
  return shape;
}

void append(std::vector<Argument>& arguments, const FoldSchedule& schedule, const Loops& loops) {
  for (const std::int64_t number : {schedule.rows, schedule.steps, schedule.chunk, schedule.splits})
    arguments.emplace_back(number);
  Loop folded = loops.folded;
  folded.strides.pop_back();  // the result's
  Offsets::append(arguments, loops.kept);
  Offsets::append(arguments, folded);
}

/// The combination of the states that blocks computed for each row: [rows, splits], or for columns [splits, columns].
FoldLaunch plan_end(Gpu& gpu, const Loop& kept, bool columns, std::int64_t splits, std::span<const Value> states) {
  const std::int64_t rows = numel(kept.sizes);
  Dims strides = contiguous_strides(kept.sizes);
  if (!columns)
    for (auto& stride : strides) stride *= splits;
  const Loops loops{{kept.sizes, {strides, kept.strides.back()}},
                    {Shape{splits}, {Dims{columns ? rows : 1}, Dims{0}}},
                    {read(states[0]), {}}};
  FoldShape shape = shape_of(loops, {}, Stage::End);
  shape.columns = columns;
  const FoldSchedule schedule(loops, shape, gpu.driver().capabilities().multiprocessors);
  shape.lanes = schedule.lanes;
  FoldLaunch launch{shape, schedule.blocks(), {}};
  for (const Value& state : states) launch.arguments.emplace_back(read(state));
  append(launch.arguments, schedule, loops);
  return launch;
}

}  // namespace

std::vector<FoldLaunch> plan_fold(Gpu& gpu, const FoldCall& call, std::span<const DType> state) {
  if (call.result.numel() == 0) return {};
  std::vector<Array> arrays;
  std::vector<Argument> arguments;
  for (const PointwiseOperand& input : call.inputs) {
    arguments.push_back(input.number ? *input.number : Argument(input.array));
    if (input.number) continue;
    arrays.push_back(input.array);
    arrays.back().strides = strided::broadcast_strides(input.array.shape, input.array.strides, call.shape);
    arrays.back().shape = call.shape;
  }
  for (const Array& output : call.outputs) {
    arguments.emplace_back(output);
    arrays.push_back(output);
  }
  const Loops loops = loops_of(call, std::move(arrays));
  FoldShape shape = shape_of(loops, call.inputs, Stage::Whole);
  const FoldSchedule schedule(loops, shape, gpu.driver().capabilities().multiprocessors);
  shape.lanes = schedule.lanes;
  if (schedule.splits > 1) shape.stage = Stage::Begin;

  std::vector<FoldLaunch> launches(1);
  std::vector<Value> states;
  if (schedule.splits > 1)
    for (const DType dtype : state)
      states.push_back(gpu.scratch({Shape{numel(loops.kept.sizes) * schedule.splits}, dtype}));
  for (const Value& each : states) arguments.emplace_back(read(each));
  append(arguments, schedule, loops);
  launches[0] = {shape, schedule.blocks() * schedule.splits, std::move(arguments), {}};
  if (schedule.splits > 1) {
    launches.push_back(plan_end(gpu, loops.kept, shape.columns, schedule.splits, states));
    launches.back().held = std::move(states);
  }
  return launches;
}

}  // namespace kiln::gpu::family

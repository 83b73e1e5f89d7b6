// Runs the same operations on different tensors, of any size, as one kernel: an optimizer's updates of its parameters.
// Each block finds in tables which part it belongs to.
#include <algorithm>
#include <bit>

#include "kiln/backend/gpu/family/family.hpp"
#include "kiln/backend/gpu/family/index.hpp"
#include "kiln/backend/gpu/family/program.hpp"
#include "kiln/backend/gpu/results.hpp"
#include "kiln/ops/planned/sequence.hpp"

namespace kiln::gpu::family {
namespace {

struct TogetherKernel {
  ProgramKey program;
  std::vector<Layout> inputs;  // a number for all parts; contiguous; one element per part
  DType index;
  int width, places;  // neighbours per thread; the most parts of the tables

  Kernel kernel() const {
    const op::Program& p = *program.program;
    Builder k("together", kThreads);
    std::vector<Expr> numbers(inputs.size());
    std::vector<Table> from, to;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] == Layout::Number) numbers[i] = k.number(p.inputs[i]);
      else from.push_back(k.inputs(p.inputs[i], places));
    }
    for (const std::uint16_t step : p.outputs) to.push_back(k.outputs(p.steps[step].dtype, places));
    const Numbers counts = k.numbers(places), starts = k.numbers(places);

    // The last part that starts at this block or before.
    const Expr block = k.block().as(DType::I64);
    Expr part = k.literal(DType::I32, 0);
    for (int step = static_cast<int>(std::bit_ceil(static_cast<unsigned>(places))) / 2; step > 0; step /= 2) {
      const Expr next = part + step;
      const Expr begun = starts[min(next, k.literal(DType::I32, places - 1))] <= block;
      part = select((next < places) & begun, next, part);
    }
    const Expr item = (block - starts[part]).as(index) * kThreads + k.thread().as(index);
    const Expr first = item * width, count = counts[part].as(index);
    std::vector<Buffer> in, out;
    for (const Table& each : from) in.push_back(each[part]);
    for (const Table& each : to) out.push_back(each[part]);

    const auto take = [&](const Expr& at, int lanes) {
      std::vector<std::vector<Expr>> loaded(inputs.size()), made(out.size());
      for (std::size_t i = 0, buffer = 0; i < inputs.size(); ++i) {
        const auto each = static_cast<std::size_t>(lanes);
        if (inputs[i] == Layout::Number) loaded[i].assign(each, numbers[i]);
        else if (inputs[i] == Layout::Repeated) loaded[i].assign(each, in[buffer++][k.literal(index, 0)]);
        else loaded[i] = load_line(in[buffer++], at, lanes);
      }
      for (std::size_t lane = 0; lane < static_cast<std::size_t>(lanes); ++lane) {
        std::vector<Expr> elements;
        for (const std::vector<Expr>& each : loaded) elements.push_back(each[lane]);
        const std::vector<Expr> all = steps(k, program, elements);
        for (std::size_t i = 0; i < out.size(); ++i) made[i].push_back(all[p.outputs[i]]);
      }
      for (std::size_t i = 0; i < out.size(); ++i) store_line(out[i], at, made[i]);
    };
    k.when(
        first + width <= count, [&] { take(first, width); },
        [&] {
          if (width > 1) k.loop(first, count, k.literal(index, 1), [&](const Expr& at) { take(at, 1); });
        });
    return k.finish();
  }
};

/// A part, as the kernel takes it.
struct BatchPart {
  const op::Op* op;
  const ProgramKey* program;
  Call call;
  Dims order;  // order of the dimensions of all contiguous tensors, and so of the results
  std::vector<Layout> inputs{};
  std::vector<Argument> arguments{};  // by input
  std::int64_t count;
  std::uint64_t collective;  // the collective that it has to wait for; or 0
  bool aligned = true;

  bool is_like(const BatchPart& other) const {
    if (!(*program == *other.program) || inputs != other.inputs || aligned != other.aligned ||
        collective != other.collective)
      return false;
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (inputs[i] == Layout::Number && arguments[i].bits != other.arguments[i].bits) return false;
    return true;
  }
};

/// Returns none if tensors broadcast other than as one element, or do not have the same order.
std::optional<BatchPart> part_of(Gpu& gpu, const op::Op& op, const Call& call) {
  const ProgramKey* const program = program_of(gpu, op, call);
  if (!program) return std::nullopt;
  const Shape& shape = call.out[0].shape();
  BatchPart part{.op = &op,
                 .program = program,
                 .call = call,
                 .order = strided::follow_order(shape, call.in),
                 .count = numel(shape),
                 .collective = gpu.running_collectives().awaited_by(call.in)};
  for (std::size_t i = 0; i < call.in.size(); ++i) {
    const Value& value = call.in[i];
    if (!value.node()) {
      part.inputs.push_back(Layout::Number);
      part.arguments.emplace_back(value.scalar(), program->program->inputs[i]);
      continue;
    }
    const Array array = read(value);
    const bool one = array.numel() == 1 && part.count != 1;
    if (!one && (array.shape != shape || !strided::same_order(shape, array.strides, part.order))) return std::nullopt;
    part.inputs.push_back(one ? Layout::Repeated : Layout::InLine);
    part.arguments.emplace_back(array);
    part.aligned &= one || is_aligned(array);
  }
  return part;
}

/// Runs parts that are like each other, and wait for the same collective; as many at a time as an argument list holds.
void run_alike(Gpu& gpu, std::vector<BatchPart>& parts) {
  gpu.running_collectives().wait_for_collective(parts[0].call.in);
  const ProgramKey& program = *parts[0].program;
  const std::vector<Layout>& inputs = parts[0].inputs;
  const auto numbers = static_cast<std::size_t>(std::ranges::count(inputs, Layout::Number));
  const std::size_t tables = inputs.size() - numbers + parts[0].call.out.size() + 2;
  const std::size_t most = (kMostArguments - numbers) / tables;
  std::size_t smallest = 8;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i] == Layout::InLine) smallest = std::min(smallest, size_of(program.program->inputs[i]));

  for (std::size_t begin = 0; begin < parts.size(); begin += most) {
    const std::span<BatchPart> some = std::span(parts).subspan(begin, std::min(most, parts.size() - begin));
    std::vector<std::vector<Array>> results(some.size());
    std::vector<Results> before;
    for (const BatchPart& part : some) before.emplace_back(part.call.out);
    bool aligned = some[0].aligned;
    std::int64_t longest = 0;
    for (std::size_t i = 0; i < some.size(); ++i) {
      BatchPart& part = some[i];
      for (Value& out : part.call.out) {
        for (std::size_t operand = 0; operand < part.call.in.size(); ++operand)
          if (part.call.in[operand].node() && gpu.take_memory(out, part.order, part.call, operand)) break;
        results[i].push_back(gpu.allocate(out, part.order));
        aligned &= is_aligned(results[i].back());
      }
      longest = std::max(longest, part.count);
    }
    const std::size_t places = std::min(most, std::bit_ceil(some.size()));
    const int width = aligned ? static_cast<int>(std::min<std::size_t>(16 / smallest, 8)) : 1;
    const TogetherKernel kernel{program, inputs, index_type(longest), width, static_cast<int>(places)};

    std::vector<Argument> arguments;
    // Unused places repeat the last part, and start after all blocks.
    const auto append = [&](auto of_part) {
      for (std::size_t i = 0; i < places; ++i) arguments.emplace_back(of_part(std::min(i, some.size() - 1)));
    };
    for (std::size_t input = 0; input < inputs.size(); ++input) {
      if (inputs[input] == Layout::Number) arguments.push_back(some[0].arguments[input]);
      else append([&](std::size_t i) { return some[i].arguments[input]; });
    }
    for (std::size_t out = 0; out < results[0].size(); ++out) append([&](std::size_t i) { return results[i][out]; });
    append([&](std::size_t i) { return some[i].count; });
    std::int64_t blocks = 0;
    for (std::size_t i = 0; i < places; ++i) {
      arguments.emplace_back(i < some.size() ? blocks : std::numeric_limits<std::int64_t>::max());
      if (i < some.size()) blocks += blocks_for(some[i].count, std::int64_t{kThreads} * width);
    }
    // Others may have run in place, so that the batch as a whole cannot start again.
    if (const Ref<Code> code = gpu.find_or_none(kernel)) {
      gpu.launch(*code, blocks, arguments);
      continue;
    }
    for (std::size_t i = 0; i < some.size(); ++i) {
      before[i].restore();
      gpu.run(*some[i].op, some[i].call);
    }
  }
}

}  // namespace

bool run(Gpu& gpu, const op::Batched& op, Call call) {
  std::vector<std::vector<BatchPart>> alike;
  for (const op::BatchedOp& each : op.parts->all) {
    const Call own{call.in.subspan(each.operands.first, each.operands.count),
                   call.out.subspan(each.results.first, each.results.count),
                   each.operands.first < 64 ? call.last_uses >> each.operands.first : 0};
    std::optional<BatchPart> part = part_of(gpu, each.op, own);
    if (!part || part->count == 0) {
      gpu.run(each.op, own);
      continue;
    }
    const auto known = std::ranges::find_if(alike, [&](const auto& parts) { return parts[0].is_like(*part); });
    if (known != alike.end()) known->push_back(std::move(*part));
    else alike.emplace_back().push_back(std::move(*part));
  }
  // An optimizer updates with gradients that ranks have summed while they still sum the others.
  std::ranges::stable_sort(alike, {}, [](const auto& parts) { return parts[0].collective; });
  for (std::vector<BatchPart>& parts : alike) {
    if (parts.size() > 1) run_alike(gpu, parts);
    else gpu.run(*parts[0].op, parts[0].call);
  }
  return true;
}

}  // namespace kiln::gpu::family

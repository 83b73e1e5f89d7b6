// Samples classes by their weights: running sums of each row, and a binary search in them for each sample.
#include "kiln/backend/gpu/family/checks.hpp"
#include "kiln/backend/gpu/family/family.hpp"
#include "kiln/backend/gpu/family/index.hpp"
#include "kiln/backend/gpu/family/prefix.hpp"
#include "kiln/backend/gpu/family/words.hpp"
#include "kiln/ops/expression/draw.hpp"

namespace kiln::gpu::family {
namespace {

/// One block per row. Errors are reported as places: 2 * i for a wrong weight i, and 2 * i + 1 for a wrong sum of the
/// row that ends with weight i.
struct RunningSumsKernel {
  DType weights, report_as;
  static constexpr int kEach = 4;

  Kernel kernel() const {
    Builder k("running_sums", kThreads);
    const Buffer from = k.input(weights), sums = k.output(DType::F64), cell = k.both(report_as);
    const Expr classes = k.number(DType::I64);
    const Expr row = k.block().as(DType::I64) * classes;
    const Expr zero = k.literal(DType::F64, 0), infinity = k.call("infinity", DType::F64, {});
    const Local sum = k.variable(zero);
    k.loop(k.literal(DType::I64, 0), classes, k.literal(DType::I64, kThreads * kEach), [&](const Expr& tile) {
      const Expr first = tile + (k.thread() * kEach).as(DType::I64);
      const Local held = k.local(DType::F64, kEach), mine = k.variable(zero);
      for (int i = 0; i < kEach; ++i) {
        held.set(i, zero);
        k.when(first + i < classes, [&] {
          const Expr weight = from[row + first + i].as(DType::F64);
          held.set(i, weight);
          k.when(!((weight >= 0) & (weight < infinity)), [&] { report(cell, (row + first + i) * 2); });
        });
        mine.set(mine + held[i]);
      }
      const Prefix prefix = prefix_sum(k, mine);
      const Local running = k.variable(sum + prefix.before);
      for (int i = 0; i < kEach; ++i) {
        running.set(running + held[i]);
        k.when(first + i < classes, [&] { sums.store(row + first + i, running); });
      }
      sum.set(sum + prefix.all);
    });
    const Expr all = sum;
    k.when((k.thread() == 0) & !((all > 0) & (all < infinity)), [&] { report(cell, (row + classes - 1) * 2 + 1); });
    return k.finish();
  }
};

/// The first class whose running sum exceeds a random number below the total, or else the last that has a weight.
struct ClassKernel {
  DType weights, dtype, index;

  Kernel kernel() const {
    Builder k("categorical", kThreads);
    const Buffer from = k.input(weights), sums = k.input(DType::F64), to = k.output(dtype);
    const Expr count = k.number(index), draws = k.number(index), classes = k.number(DType::I64);
    const KeyWords key(k);
    const Expr i = k.place(index);
    k.when(i < count, [&] {
      const Expr row = (i / draws).as(DType::I64) * classes, last = classes - 1;
      const Expr total = sums[row + last];
      const Expr in[] = {total, total, low_half(i), high_half(k, i), key.low, key.high};
      const Expr target = k.tree(*expr::sample(op::Distribution::Categorical), DType::F64, in);
      const Local low = k.variable(k.literal(DType::I64, 0)), high = k.variable(classes);
      k.loop_while([&] { return low < high; },
                   [&] {
                     const Expr middle = (low + high) / 2;
                     const Expr exceeds = sums[row + middle] > target;
                     high.set(select(exceeds, middle, high));
                     low.set(select(exceeds, low, middle + 1));
                   });
      // Rounding may have raised the sum of a class without weight.
      k.loop_while([&] { return (low < classes) & (from[row + min(low, last)] == 0); }, [&] { low.set(low + 1); });
      const Local chosen = k.variable(min(low, last));
      k.loop_while([&] { return (chosen > 0) & (from[row + chosen] == 0); }, [&] { chosen.set(chosen - 1); });
      to.store(i, k.convert(chosen, DType::I64, dtype));
    });
    return k.finish();
  }
};

void check_weights(Gpu& gpu, const Value& cell, Call call, std::int64_t classes) {
  gpu.check(cell, call,
            [kept = KeptOperand(call.in[op::Random::a]), function = CalledAs::function(), classes](std::int64_t found) {
              const auto weight = [&](std::int64_t i) {
                return kept.visit(i, [](auto element) { return static_cast<double>(element); });
              };
              const std::int64_t place = reported(found) / 2, row = place / classes;
              if (reported(found) % 2 == 0)
                return wrong<ArgumentError>(
                    function, text("categorical: weight ", place % classes, " of row ", row, " is ", weight(place)));
              double sum = 0;
              for (std::int64_t i = row * classes; i <= place; ++i) sum += weight(i);
              return wrong<ArgumentError>(function, text("categorical: the weights of row ", row, " add up to ", sum));
            });
}

}  // namespace

bool draw_classes(Gpu& gpu, const op::Random& op, Call call) {
  Value held;
  const Array weights = gpu.read_contiguous(call.in[op::Random::a], held), z = gpu.allocate(call.out[0]);
  const std::int64_t classes = weights.shape.back(), draws = op.shape.back();
  if (weights.numel() == 0) return true;
  const Value cell = gpu.check_cell(2 * weights.numel()), sums = gpu.scratch({weights.shape, DType::F64});
  gpu.launch(RunningSumsKernel{weights.dtype, cell.dtype()}, weights.numel() / classes,
             {weights, read(sums), read(cell), classes});
  check_weights(gpu, cell, call, classes);
  if (z.numel() == 0) return true;
  std::vector<Argument> arguments{weights, read(sums), z, z.numel(), draws, classes};
  KeyWords::append(arguments, call.in[op::Random::key]);
  gpu.launch(ClassKernel{weights.dtype, z.dtype, index_type(z.numel())}, blocks_for(z.numel(), kThreads), arguments);
  return true;
}

}  // namespace kiln::gpu::family

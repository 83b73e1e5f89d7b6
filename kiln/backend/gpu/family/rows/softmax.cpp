// Softmax: contiguous rows in registers; all others in two passes, the first of which finds the largest element and the
// sum of exponentials at once (Milakov and Gimelshein, "Online normalizer calculation for softmax", 2018).
#include "kiln/backend/gpu/family/family.hpp"
#include "kiln/backend/gpu/family/rows/power_sum.hpp"
#include "kiln/backend/gpu/family/rows/row.hpp"

namespace kiln::gpu::family {
namespace {

struct SoftmaxRows {
  DType dtype;
  bool log, in_place;
  RowShape shape;

  Kernel kernel() const {
    const DType type = expr::computed_in(dtype);
    Builder k(log ? "log_softmax" : "softmax", shape.threads());
    const Buffer from = k.input(dtype), to = in_place ? k.both(dtype) : k.output(dtype);
    const Row row(k, shape);
    const Exprs x = row.load(from);
    const Expr most = row.largest(x);
    const Exprs shifted = Row::each([&](const Expr& each) { return each - most; }, x);
    const Exprs powers = Row::each([&](const Expr& each) { return k.call("exp", type, {each}); }, shifted);
    const Expr total = row.sum(powers);
    if (log) {
      const Expr of_total = k.call("log", type, {total});
      row.store(to, Row::each([&](const Expr& each) { return each - of_total; }, shifted));
    } else {
      const Expr share = 1.0 / total;
      row.store(to, Row::each([&](const Expr& each) { return each * share; }, powers));
    }
    return k.finish();
  }
};

/// The largest element, and the sum of exponentials, of rows that are not contiguous or too long.
struct PowerSumKernel {
  DType dtype;
  FoldShape shape{};

  std::array<DType, 2> state() const { return {expr::computed_in(dtype), expr::computed_in(dtype)}; }
  Kernel kernel() const {
    Builder k("power_sum", Folder::kThreads);
    Folder folder(k, shape, std::array{dtype}, {}, state());
    const Buffer largest = k.output(state()[0]), sum = k.output(state()[1]);
    folder.run(
        power_sum(k, state()[0]), [](const Exprs& loaded) { return loaded; },
        [&](const Exprs& all, const Expr& at) {
          largest.store(at, all[0]);
          sum.store(at, counted(all));
        });
    return k.finish();
  }
};

struct SoftmaxApply {
  DType dtype;
  bool log;
  PointwiseShape shape{};

  Kernel kernel() const {
    const DType type = expr::computed_in(dtype);
    Builder k(log ? "log_softmax_apply" : "softmax_apply", Pointwise::kThreads);
    Pointwise pointwise(k, shape, std::array{dtype, type, type}, std::array{dtype});
    pointwise.run([&](std::span<const Expr> in) {
      const Expr shifted = in[0] - in[1];
      if (log) return Exprs{shifted - k.call("log", type, {in[2]})};
      return Exprs{k.call("exp", type, {shifted}) / in[2]};
    });
    return k.finish();
  }
};

/// Is `dim` the last dimension of more than one element, so that its lines are contiguous rows?
bool ends_with(const Array& x, int dim) {
  for (int after = dim + 1; after < x.shape.size(); ++after)
    if (x.shape[after] != 1) return false;
  return x.contiguous();
}

}  // namespace

bool run(Gpu& gpu, const op::Softmax& op, Call call) {
  const Array x = read(call.in[0]);
  const Dims order = contiguous_strides(x.shape);
  if (x.numel() == 0) return gpu.allocate(call.out[0]), true;
  const std::int64_t length = x.shape[op.dim], rows = x.numel() / length;
  if (ends_with(x, op.dim)) {
    const bool in_place = gpu.take_memory(call.out[0], order, call, 0);
    const Array y = gpu.allocate(call.out[0]);
    if (const auto shape = RowShape::of(gpu, rows, length, std::array{x, y})) {
      gpu.launch(SoftmaxRows{x.dtype, op.log, in_place, *shape}, shape->blocks(rows), {x, y, rows, length});
      return true;
    }
  }
  const PowerSumKernel sums{x.dtype};
  Shape kept = x.shape;
  kept[op.dim] = 1;
  const Value held[] = {gpu.scratch({kept, sums.state()[0]}), gpu.scratch({kept, sums.state()[1]})};
  const Array largest = read(held[0]), sum = read(held[1]), y = gpu.allocate(call.out[0]);
  fold(gpu, sums, {.shape = x.shape, .dims = {op.dim}, .inputs = {{x}}, .result = sum}, sums.state(), {largest, sum});
  pointwise(gpu, SoftmaxApply{x.dtype, op.log}, x.shape, {{x}, {largest}, {sum}}, {y});
  return true;
}

}  // namespace kiln::gpu::family

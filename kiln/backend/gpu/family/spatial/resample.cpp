// Resizes along one dimension: a thread computes a result from its taps, which the host computes once.
#include "kiln/backend/gpu/family/family.hpp"
#include "kiln/backend/gpu/family/index.hpp"
#include "kiln/ops/spatial/resample_ops.hpp"

namespace kiln::gpu::family {
namespace {

struct ResampleKernel {
  DType dtype, index;
  int dim;
  Dims order;

  Kernel kernel() const {
    Builder k("resample", kThreads);
    const Buffer x = k.input(dtype), rows = k.input(DType::I64), weights = k.input(expr::computed_in(dtype)),
                 y = k.output(dtype);
    const Expr count = k.number(index);
    std::vector<Expr> sizes, strides;
    for (int i = 0; i < order.size(); ++i) sizes.push_back(k.number(index));
    for (int i = 0; i < order.size(); ++i) strides.push_back(k.number(index));
    const Expr i = k.place(index);
    k.when(i < count, [&] {
      const std::vector<Expr> at = unravel(i, sizes, order);
      Expr first = k.literal(index, 0);
      for (std::size_t d = 0; d < at.size(); ++d)
        if (static_cast<int>(d) != dim) first = first + at[d] * strides[d];
      const Expr row = at[static_cast<std::size_t>(dim)], stride = strides[static_cast<std::size_t>(dim)];
      const Expr begin = rows[row * 3].as(index), taps = rows[row * 3 + 1].as(index),
                 weight = rows[row * 3 + 2].as(index);
      const Local sum = k.variable(k.literal(expr::computed_in(dtype), 0));
      k.loop(k.literal(index, 0), taps, k.literal(index, 1),
             [&](const Expr& tap) { sum.set(sum + weights[weight + tap] * x[first + (begin + tap) * stride]); });
      y.store(i, sum);
    });
    return k.finish();
  }
};

/// The taps of a map on the device: memory that does not keep its creator alive.
struct Taps {
  Ref<Storage> rows, weights;
};
struct TapsKey {
  std::int64_t from, to;
  int mode;
  bool align_corners, antialias;
  double step;
  bool transposed;
  DType type;
};

Taps make_taps(Gpu& gpu, const op::Resample& op, DType type) {
  const op::Resample::Taps taps = op.taps();
  Ref<Storage> rows = gpu.upload_table(DType::I64, std::as_bytes(std::span(taps.rows)));
  if (type == DType::F64) return {rows, gpu.upload_table(type, std::as_bytes(std::span(taps.weights)))};
  const std::vector<float> weights(taps.weights.begin(), taps.weights.end());
  return {rows, gpu.upload_table(type, std::as_bytes(std::span(weights)))};
}

}  // namespace

bool run(Gpu& gpu, const op::Resample& op, Call call) {
  static_assert(sizeof(op::Resample::Taps::TapRow) == 3 * sizeof(std::int64_t));
  const Array x = read(call.in[0]);
  const Shape& shape = call.out[0].shape();
  const Dims order = order_of(x.shape, x.strides);
  const Array y = gpu.allocate(call.out[0], dense_strides(shape, order));
  if (y.numel() == 0) return true;
  const DType type = expr::computed_in(x.dtype);
  const TapsKey key{op.from,       op.to, static_cast<int>(op.mode), op.align_corners, op.antialias, op.step,
                    op.transposed, type};
  const auto& taps = gpu.made<Taps>(key, [&] { return std::make_shared<const Taps>(make_taps(gpu, op, type)); });
  const auto address = [&](const Ref<Storage>& storage) { return gpu.table(*storage); };
  std::vector<Argument> arguments{x, address(taps.rows), address(taps.weights), y, y.numel()};
  for (const Dims& numbers : {shape, x.strides})
    for (const std::int64_t number : numbers) arguments.emplace_back(number);
  Dims strides = x.strides;
  strides[op.dim] = 0;
  const std::int64_t reach = std::abs(x.strides[op.dim]) * x.shape[op.dim];
  const DType index =
      index_type(Loop{shape, {strides}}) == DType::I64 ? DType::I64 : index_type({2 * reach, 3 * shape[op.dim]});
  gpu.launch(ResampleKernel{x.dtype, index, op.dim, order}, blocks_for(y.numel(), kThreads), arguments);
  return true;
}

}  // namespace kiln::gpu::family

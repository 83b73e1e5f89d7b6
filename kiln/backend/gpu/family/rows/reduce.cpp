// Reductions and the places of extremes.
#include <limits>

#include "kiln/backend/gpu/family/family.hpp"
#include "kiln/backend/gpu/family/rows/folding.hpp"
#include "kiln/ops/expression/combiner.hpp"

namespace kiln::gpu::family {
namespace {

struct ReduceKernel {
  op::ReduceFn fn;
  DType from, to;
  FoldShape shape{};

  Reduction reduction() const { return {fn, from}; }
  DType state() const { return expr::accumulator(fn, from); }
  Kernel kernel() const {
    Builder k(op::name(fn), Folder::kThreads);
    Folder folder(k, shape, std::array{from}, {}, std::array{state()});
    const Buffer result = k.output(to);
    const Expr count = k.number(state());
    folder.run(
        reductions(k, {reduction()}), [](const Exprs& loaded) { return loaded; },
        [&](const Exprs& all, const Expr& at) { result.store(at, finished(k, reduction(), all[0], count, to)); });
    return k.finish();
  }
};

/// A state is the extreme so far and its place.
struct ArgKernel {
  op::ArgFn fn;
  DType from;
  FoldShape shape{};

  std::array<DType, 2> state() const { return {expr::computed_in(from), DType::U32}; }
  Kernel kernel() const {
    Builder k(op::name(fn), Folder::kThreads);
    Folder folder(k, shape, std::array{from}, {}, state());
    const Buffer result = k.output(DType::I64);
    const Merge merge = [&](const Exprs& x, const Exprs& y) {
      const Expr replaces = k.tree(expr::replaces(fn), from, std::array{x[0], x[1], y[0], y[1]});
      return Exprs{select(replaces, y[0], x[0]), select(replaces, y[1], x[1])};
    };
    const Folding folding{.nothing =
                              [&] {
                                const auto least = fn == op::ArgFn::ArgMax ? op::ReduceFn::Max : op::ReduceFn::Min;
                                // The initial place is the largest, so that any element wins over it.
                                return Exprs{
                                    k.tree(expr::combiner(least).identity, from, {}),
                                    k.literal(DType::U32, std::int64_t{std::numeric_limits<std::uint32_t>::max()})};
                              },
                          .add = [&](const Exprs& state, const Exprs& element,
                                     const Expr& place) { return merge(state, {element[0], place}); },
                          .merge = merge};
    folder.run(
        folding, [](const Exprs& loaded) { return loaded; },
        [&](const Exprs& all, const Expr& at) { result.store(at, all[1].as(DType::I64)); });
    return k.finish();
  }
};

}  // namespace

bool run(Gpu& gpu, const op::Reduce& op, Call call) {
  const Array x = read(call.in[0]), z = gpu.allocate(call.out[0]);
  const ReduceKernel kernel{op.fn, x.dtype, z.dtype};
  double count = 1;
  for (const auto dim : op.dims) count *= static_cast<double>(x.shape[static_cast<int>(dim)]);
  fold(gpu, kernel, {.shape = x.shape, .dims = op.dims, .inputs = {{x}}, .result = z}, std::array{kernel.state()},
       {z, Argument(Scalar(count), kernel.state())});
  return true;
}

bool run(Gpu& gpu, const op::ArgReduce& op, Call call) {
  const Array x = read(call.in[0]);
  const int dim = wrap_dim(op::name(op.fn), op.dim, x.shape.size());
  if (x.shape[dim] >= std::numeric_limits<std::uint32_t>::max()) return false;
  const Array z = gpu.allocate(call.out[0]);
  const ArgKernel kernel{op.fn, x.dtype};
  fold(gpu, kernel, {.shape = x.shape, .dims = {dim}, .inputs = {{x}}, .result = z}, kernel.state(), {z});
  return true;
}

}  // namespace kiln::gpu::family

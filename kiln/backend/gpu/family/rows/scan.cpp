// Scans and linear recurrences.
#include <limits>

#include "kiln/backend/gpu/family/family.hpp"
#include "kiln/backend/gpu/family/rows/scanning.hpp"
#include "kiln/ops/expression/combiner.hpp"

namespace kiln::gpu::family {
namespace {

struct ScanKernel {
  op::ScanFn fn;
  DType from, to;
  ScanShape shape{};

  bool extreme() const { return fn == op::ScanFn::Max || fn == op::ScanFn::Min; }
  std::vector<DType> state() const {
    const DType accumulator = expr::accumulator(fn, from);
    return extreme() ? std::vector<DType>{accumulator, DType::U32} : std::vector<DType>{accumulator};
  }
  Kernel kernel() const {
    Builder k(op::name(fn), Scanner::kThreads);
    const DType type = expr::accumulator(fn, from);
    std::vector<DType> outputs{to};
    if (extreme()) outputs.push_back(DType::I64);
    const std::vector<DType> state = this->state();
    Scanner scanner(k, shape, std::array{from}, outputs, state);
    const auto identity = [&] { return k.tree(expr::combiner(fn).identity, type, {}); };
    if (!extreme()) {
      scanner.run({.nothing = [&] { return Exprs{identity()}; },
                   .element = [&](const Exprs& x, const Expr&) { return Exprs{x[0].as(type)}; },
                   .merge =
                       [&](const Exprs& x, const Exprs& y) {
                         return Exprs{k.tree(expr::combiner(fn).combine, type, std::array{x[0], y[0]})};
                       },
                   .outputs = [&](const Exprs& x) { return Exprs{x[0].as(expr::computed_in(to))}; }});
      return k.finish();
    }
    // The extreme so far, and its place in the order of the scan.
    scanner.run({.nothing =
                     [&] {
                       return Exprs{identity(),
                                    k.literal(DType::U32, std::int64_t{std::numeric_limits<std::uint32_t>::max()})};
                     },
                 .element = [](const Exprs& x, const Expr& place) { return Exprs{x[0], place}; },
                 .merge =
                     [&](const Exprs& x, const Exprs& y) {
                       const Expr replaces = k.tree(expr::replaces(fn), type, std::array{x[0], x[1], y[0], y[1]});
                       return Exprs{select(replaces, y[0], x[0]), select(replaces, y[1], x[1])};
                     },
                 .outputs =
                     [&](const Exprs& x) {
                       const Expr place = x[1].as(DType::I64);
                       return Exprs{x[0], shape.reverse ? scanner.length().as(DType::I64) - 1 - place : place};
                     }});
    return k.finish();
  }
};

/// A state is the map y = slope * y + offset of a run of elements.
struct RecurrenceKernel {
  DType dtype;
  ScanShape shape{};

  std::vector<DType> state() const { return {expr::computed_in(dtype), expr::computed_in(dtype)}; }
  Kernel kernel() const {
    Builder k("linear_recurrence", Scanner::kThreads);
    const DType type = expr::computed_in(dtype);
    const std::vector<DType> state = this->state();
    Scanner scanner(k, shape, std::array{dtype, dtype}, std::array{dtype}, state);
    scanner.run({.nothing = [&] { return Exprs{k.literal(type, 1.0), k.literal(type, 0.0)}; },
                 .element = [](const Exprs& loaded, const Expr&) { return loaded; },
                 .merge =
                     [&](const Exprs& x, const Exprs& y) {
                       const std::array all{x[0], x[1], y[0], y[1]};
                       return Exprs{k.tree(expr::recurrence().slope, type, all),
                                    k.tree(expr::recurrence().offset, type, all)};
                     },
                 .outputs = [](const Exprs& x) { return Exprs{x[1]}; }});
    return k.finish();
  }
};

/// The shape of a contiguous array as [outer, length, inner] around a dimension.
Shape around(const Shape& shape, int dim) {
  Shape folded{1, shape[dim], 1};
  for (int i = 0; i < shape.size(); ++i)
    if (i != dim) folded[i < dim ? 0 : 2] *= shape[i];
  return folded;
}

}  // namespace

bool run(Gpu& gpu, const op::Scan& op, Call call) {
  const Shape& shape = call.in[0].shape();
  if (shape[op.dim] >= std::numeric_limits<std::uint32_t>::max()) return false;
  Value held;
  const Array x = gpu.read_contiguous(call.in[0], held);
  std::vector<Array> outputs;
  for (Value& out : call.out) outputs.push_back(gpu.allocate(out));
  if (x.numel() == 0) return true;
  const ScanKernel kernel{op.fn, x.dtype, outputs[0].dtype};
  scan(gpu, kernel, around(shape, op.dim), op.exclusive, op.reverse, std::array{x}, outputs, kernel.state());
  return true;
}

bool run(Gpu& gpu, const op::Recurrence& op, Call call) {
  Value held[2];
  const Array a = gpu.read_contiguous(call.in[op::Recurrence::a], held[0]);
  const Array b = gpu.read_contiguous(call.in[op::Recurrence::b], held[1]);
  const Array y = gpu.allocate(call.out[0]);
  if (y.numel() == 0) return true;
  const RecurrenceKernel kernel{y.dtype};
  scan(gpu, kernel, around(y.shape, op.dim), false, op.reverse, std::array{a, b}, std::array{y}, kernel.state());
  return true;
}

}  // namespace kiln::gpu::family

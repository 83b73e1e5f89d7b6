// Layer norm and group norm, and their gradients.
#include "kiln/backend/gpu/family/family.hpp"
#include "kiln/backend/gpu/family/rows/norm_rows.hpp"

namespace kiln::gpu::family {
namespace {

template <class Op>
Groups groups_of(const Op& op, const Shape& x, const Value& epsilon) {
  std::int64_t inner = 1;
  for (int dim = 2; dim < x.size(); ++dim) inner *= x[dim];
  return {x[0], op.groups, x[1] / op.groups, inner, op.centred, epsilon.scalar().to<double>()};
}

/// Sums of g, and of g times the normalised x, over some dimensions of [batch, groups, own, inner]; both are multiplied
/// by a weight. The inputs may already be sums over `inner`.
struct GradientSumsKernel {
  DType dtype, weight, to;
  bool summed;
  FoldShape shape{};

  DType type() const { return expr::computed_in(dtype); }
  std::vector<Reduction> sums() const { return std::vector<Reduction>(2, {op::ReduceFn::Sum, type()}); }
  Kernel kernel() const {
    Builder k("norm_grad_sums", Folder::kThreads);
    std::vector<DType> inputs{dtype, dtype, weight};
    if (!summed) inputs.insert(inputs.end(), 3, type());
    const std::vector<DType> state = accumulators(sums());
    Folder folder(k, shape, inputs, {}, state);
    const Buffer gradients = k.output(to), products = k.output(to);
    folder.run(
        reductions(k, sums()),
        [&](const Exprs& in) {
          const Expr g = in[0] * in[2];
          if (summed) return Exprs{g, in[1] * in[2]};
          return Exprs{g, g * ((in[1] - in[3] - in[4]) * in[5])};
        },
        [&](const Exprs& all, const Expr& at) {
          gradients.store(at, all[0]);
          products.store(at, all[1]);
        });
    return k.finish();
  }
};

/// The inputs of the gradient's sums.
struct Sources {
  Array g, x;  // or the sums of both over `inner`
  const Moments* moments;
  bool summed;
};
void sum_gradients(Gpu& gpu, const Sources& from, const PointwiseOperand& weight, DType weight_type, const Dims& dims,
                   const Array& gradients, const Array& products) {
  FoldCall call{.shape = from.g.shape, .dims = dims, .inputs = {{from.g}, {from.x}, weight}, .result = gradients};
  if (!from.summed)
    for (const Array& each : {from.moments->near, from.moments->rest, from.moments->inverse})
      call.inputs.push_back({each});
  const GradientSumsKernel kernel{from.g.dtype, weight_type, gradients.dtype, from.summed};
  fold(gpu, kernel, call, accumulators(kernel.sums()), {gradients, products});
}

/// Results and scratch may have no elements even if there are channels.
void norm(Gpu& gpu, const Groups& groups, Call call, const PointwiseOperand& weight, const PointwiseOperand& bias) {
  Value held;
  const Array x = gpu.read_contiguous(call.in[0], held);
  const bool in_place =
      call.out[0].dtype() == x.dtype && gpu.take_memory(call.out[0], contiguous_strides(call.out[0].shape()), call, 0);
  const Array y = seen_as(gpu.allocate(call.out[0]), groups.shape());
  if (y.numel() == 0 || norm_rows(gpu, groups, x, weight, bias, y, in_place)) return;
  const Array grouped = seen_as(x, groups.shape());
  const Moments made = moments(gpu, grouped, {2, 3}, groups.centred, groups.epsilon);
  apply_norm(gpu, {grouped}, made, weight, bias, y, in_place);
}

}  // namespace

bool run(Gpu& gpu, const op::LayerNorm&, Call call) {
  using op::LayerNorm;
  const std::int64_t width = call.in[LayerNorm::weight].numel();
  const Groups groups{width ? call.in[LayerNorm::x].numel() / width : 0, 1, width, 1, true,
                      call.in[LayerNorm::epsilon].scalar().to<double>()};
  const DType dtype = call.in[LayerNorm::x].dtype();
  Value held[2];
  const PointwiseOperand weight = operand_or(call.in[LayerNorm::weight], 1, groups.channels(), dtype, held[0], gpu);
  const PointwiseOperand bias = operand_or(call.in[LayerNorm::bias], 0, groups.channels(), dtype, held[1], gpu);
  return norm(gpu, groups, call, weight, bias), true;
}

bool run(Gpu& gpu, const op::GroupNorm& op, Call call) {
  using op::GroupNorm;
  const Groups groups = groups_of(op, call.in[GroupNorm::x].shape(), call.in[GroupNorm::epsilon]);
  const DType dtype = call.out[0].dtype();
  Value held[2];
  const PointwiseOperand weight = operand_or(call.in[GroupNorm::weight], 1, groups.channels(), dtype, held[0], gpu);
  const PointwiseOperand bias = operand_or(call.in[GroupNorm::bias], 0, groups.channels(), dtype, held[1], gpu);
  return norm(gpu, groups, call, weight, bias), true;
}

bool run(Gpu& gpu, const op::GroupNormGrad& op, Call call) {
  using op::GroupNormGrad;
  const Groups groups = groups_of(op, call.in[GroupNormGrad::x].shape(), call.in[GroupNormGrad::epsilon]);
  const DType dtype = call.out[0].dtype(), type = expr::computed_in(dtype);
  const Shape rows{groups.batch, groups.groups, 1, 1}, lines{groups.batch, groups.groups, groups.own, 1};
  Value held[3];
  const PointwiseOperand weight = operand_or(call.in[GroupNormGrad::weight], 1, groups.channels(), dtype, held[0], gpu);
  const Array x = seen_as(gpu.read_contiguous(call.in[GroupNormGrad::x], held[1]), groups.shape());
  Value given = call.in[GroupNormGrad::grad];
  Array g = seen_as(gpu.read_contiguous(given, held[2]), groups.shape());
  const Array dx = seen_as(gpu.allocate(call.out[0]), groups.shape());
  const Array dweight = seen_as(gpu.allocate(call.out[1]), groups.channels());
  const Array dbias = seen_as(gpu.allocate(call.out[2]), groups.channels());

  const PointwiseOperand one{.number = Argument(Scalar(1.0), dtype)};
  if (dx.numel() > 0) {
    if (const auto parts = norm_gradient_parts(gpu, groups, g, x, weight, dx)) {
      const Sources from{read(parts->bias), read(parts->weight), nullptr, true};
      return sum_gradients(gpu, from, one, dtype, {0, 3}, dbias, dweight), true;
    }
  }
  if (g.dtype != dtype) {
    Value wide = gpu.scratch({given.shape(), dtype});
    gpu.run(op::Cast{dtype}, {{&given, 1}, {&wide, 1}});
    g = seen_as(read(held[2] = std::move(wide)), groups.shape());
  }
  Moments made;
  const auto scratch = [&](Value& value, const Shape& shape) { return read(value = gpu.scratch({shape, type})); };
  made.near = scratch(made.held[0], rows);
  made.rest = scratch(made.held[1], rows);
  made.inverse = scratch(made.held[2], rows);
  const bool done = dx.numel() == 0 || norm_gradient_rows(gpu, groups, g, x, weight, dx, made);
  if (!done) made = moments(gpu, x, {2, 3}, groups.centred, groups.epsilon);

  // The elements of channels that have many are summed first, once for all gradients.
  Sources from{g, x, &made, false};
  Value lines_held[2], rows_held[2];
  if (groups.inner > 1) {
    const Array gradients = scratch(lines_held[0], lines), products = scratch(lines_held[1], lines);
    sum_gradients(gpu, from, one, dtype, {3}, gradients, products);
    from = {gradients, products, &made, true};
  }
  sum_gradients(gpu, from, one, dtype, {0, 3}, dbias, dweight);
  if (done) return true;
  const Array gradients = scratch(rows_held[0], rows), products = scratch(rows_held[1], rows);
  sum_gradients(gpu, from, weight, dtype, {2, 3}, gradients, products);
  const GradientSums sums{{gradients}, {products}, static_cast<double>(groups.length())};
  apply_norm_gradient(gpu, g, x, made, weight, sums, groups.centred, dx);
  return true;
}

}  // namespace kiln::gpu::family

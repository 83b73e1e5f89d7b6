// Batch norm: the moments of channels for any strides, then one pass over the elements; the same for its gradient.
#include "kiln/backend/gpu/family/family.hpp"
#include "kiln/backend/gpu/family/rows/norm.hpp"

namespace kiln::gpu::family {
namespace {

/// All dimensions but the channels.
Dims beside_channels(int rank) {
  Dims dims{0};
  for (int dim = 2; dim < rank; ++dim) dims.push_back(dim);
  return dims;
}
/// The shape of [channels] that broadcasts to x.
Shape by_channel(const Shape& x) {
  Shape shape = Shape::filled(x.size(), 1);
  shape[1] = x[1];
  return shape;
}

/// Sums for each channel: g, g * (x - mean) and x - mean. The mean is given rounded; the last sum corrects for that.
struct ChannelSums {
  DType dtype;
  bool weighted;
  FoldShape shape{};

  DType type() const { return expr::computed_in(dtype); }
  std::vector<Reduction> sums() const { return std::vector<Reduction>(3, {op::ReduceFn::Sum, type()}); }
  Kernel kernel() const {
    Builder k("batch_norm_sums", Folder::kThreads);
    const std::vector<DType> state = accumulators(sums());
    Folder folder(k, shape, std::array{dtype, dtype, type()}, {}, state);
    const Buffer variances = k.input(type()), weights = weighted ? k.input(dtype) : Buffer();
    std::vector<Buffer> to;
    for (const DType each : {dtype, dtype, type(), type(), type(), type()}) to.push_back(k.output(each));
    const Expr epsilon = k.number(type()), count = k.number(type());
    folder.run(
        reductions(k, sums()),
        [&](const Exprs& in) {
          const Expr distance = in[1] - in[2];
          return Exprs{in[0], in[0] * distance, distance};
        },
        [&](const Exprs& all, const Expr& at) {
          const Expr rest = all[2] / count, inverse = inverse_deviation(k, variances[at], epsilon);
          const Expr product = (all[1] - rest * all[0]) * inverse;
          const Expr weight = weighted ? weights[at] : k.literal(type(), 1.0);
          const Exprs results{product, all[0], rest, inverse, weight * all[0], weight * product};
          for (std::size_t i = 0; i < to.size(); ++i) to[i].store(at, results[i]);
        });
    return k.finish();
  }
};

}  // namespace

bool run(Gpu& gpu, const op::BatchNorm&, Call call) {
  using op::BatchNorm;
  const Array x = read(call.in[BatchNorm::x]);
  const Dims order = strided::follow_order(x.shape, call.in);
  const Shape channels = by_channel(x.shape);
  const double epsilon = call.in[BatchNorm::epsilon].scalar().to<double>();
  Value held[2];
  const PointwiseOperand weight = operand_or(call.in[BatchNorm::weight], 1, channels, x.dtype, held[0], gpu);
  const PointwiseOperand bias = operand_or(call.in[BatchNorm::bias], 0, channels, x.dtype, held[1], gpu);
  Moments made = moments(gpu, x, beside_channels(x.shape.size()), true, epsilon);
  for (const int i : {1, 2}) {
    const Array from = seen_as(i == 1 ? made.mean : made.variance, {x.shape[1]});
    copy(gpu, from, gpu.allocate(call.out[static_cast<std::size_t>(i)]));
  }
  apply_norm(gpu, {x}, made, weight, bias, gpu.allocate(call.out[0], order), false);
  return true;
}

bool run(Gpu& gpu, const op::BatchNormGrad&, Call call) {
  using op::BatchNormGrad;
  const Array x = read(call.in[BatchNormGrad::x]), g = read(call.in[BatchNormGrad::grad]);
  const Dims order = strided::follow_order(x.shape, call.in);
  const Shape channels = by_channel(x.shape);
  const bool weighted = call.in[BatchNormGrad::weight].node() != nullptr;
  Value held[7];
  const PointwiseOperand weight = operand_or(call.in[BatchNormGrad::weight], 1, channels, x.dtype, held[0], gpu);
  const ChannelSums kernel{x.dtype, weighted};
  const std::int64_t of_each = x.shape[1] ? x.numel() / x.shape[1] : 0;
  const auto count = static_cast<double>(of_each);

  Moments made;
  made.near = seen_as(gpu.read_contiguous(call.in[BatchNormGrad::mean], held[1]), channels);
  const Array variance = gpu.read_contiguous(call.in[BatchNormGrad::variance], held[2]);
  for (int i = 3; i < 7; ++i) held[i] = gpu.scratch({channels, kernel.type()});
  made.rest = read(held[3]);
  made.inverse = read(held[4]);
  const Array sums = read(held[5]), products = read(held[6]);

  std::vector<Argument> own{variance};
  if (weighted) own.emplace_back(weight.array);
  for (const Array& each :
       {gpu.allocate(call.out[1]), gpu.allocate(call.out[2]), made.rest, made.inverse, sums, products})
    own.emplace_back(each);
  own.insert(own.end(), {Argument(call.in[BatchNormGrad::epsilon].scalar(), kernel.type()),
                         Argument(Scalar(count), kernel.type())});
  fold(gpu, kernel,
       {.shape = x.shape, .dims = beside_channels(x.shape.size()), .inputs = {{g}, {x}, {made.near}}, .result = sums},
       accumulators(kernel.sums()), own);
  apply_norm_gradient(gpu, g, x, made, weight, {{sums}, {products}, count}, true, gpu.allocate(call.out[0], order));
  return true;
}

}  // namespace kiln::gpu::family

// Weighted sums of scattered elements and their adjoints: a thread computes each result from all of its products.
#include "kiln/backend/gpu/family/checks.hpp"
#include "kiln/backend/gpu/family/family.hpp"
#include "kiln/backend/gpu/family/index.hpp"
#include "kiln/backend/gpu/family/spatial/conv.hpp"
#include "kiln/backend/gpu/family/spatial/occurrences.hpp"
#include "kiln/ops/spatial/blend_ops.hpp"
#include "kiln/ops/spatial/pool_ops.hpp"

namespace kiln::gpu::family {
namespace {

/// Three strides of an operand, as parameters of a kernel.
struct Strides {
  Strides(Builder& k, DType index) : a(k.number(index)), b(k.number(index)), c(k.number(index)) {}
  Expr at(const Expr& i, const Expr& j, const Expr& l) const { return i * a + j * b + l * c; }
  Expr a, b, c;
};

/// Blend, and its adjoint for the weight, which sums over channels rather than taps.
struct BlendKernel {
  DType dtype, indices, index;
  bool of_weight;
  Dims order;  // order of the result's dimensions

  Kernel kernel() const {
    Builder k(of_weight ? "blend_weight_grad" : "blend", kThreads);
    const Buffer x = k.input(dtype), which = k.input(indices), other = k.input(dtype), made = k.output(dtype);
    const Expr count = k.number(index), size = k.number(DType::I64), summed = k.number(index);
    const Strides x_at(k, index), index_at(k, index), other_at(k, index);
    const std::vector<Expr> sizes{k.number(index), k.number(index), k.number(index)};
    const Expr zero = k.literal(index, 0), one = k.literal(index, 1);
    const Expr i = k.place(index);
    k.when(i < count, [&] {
      const std::vector<Expr> at = unravel(i, sizes, order);
      const Local sum = k.variable(k.literal(expr::computed_in(dtype), 0));
      k.loop(zero, summed, one, [&](const Expr& s) {
        // The result is [batch, channels, points], or [batch, points, taps].
        const Expr channel = of_weight ? s : at[1], point = of_weight ? at[1] : at[2], tap = of_weight ? at[2] : s;
        const Expr place = which[index_at.at(at[0], point, tap)].as(DType::I64);
        k.when((place >= 0) & (place < size), [&] {
          const Expr factor = other[of_weight ? other_at.at(at[0], channel, point) : other_at.at(at[0], point, tap)];
          sum.set(sum + x[x_at.at(at[0], channel, place.as(index))] * factor);
        });
      });
      made.store(i, sum);
    });
    return k.finish();
  }
};

/// The adjoint for x, and that of a pool, where each index is a point with one tap of weight 1.
struct GatherKernel {
  DType dtype, indices, index;
  bool weighted, interleaved;

  Kernel kernel() const {
    Builder k("blend_transpose", kThreads);
    const Buffer y = k.input(dtype), weight = weighted ? k.input(dtype) : Buffer(), x = k.output(dtype);
    const OccurrenceReader reader(k, indices, index);
    const Expr count = k.number(index), channels = k.number(index), size = k.number(index), points = k.number(index),
               taps = k.number(index);
    const Expr beside = interleaved ? k.number(index) : k.literal(index, 1);
    const Expr i = k.place(index);
    k.when(i < count, [&] {
      const Expr cell = i / beside, line = i % beside, plane = cell / size, batch = plane / channels;
      const Local sum = k.variable(k.literal(expr::computed_in(dtype), 0));
      reader.each(batch, cell % size, line, [&](const Expr& at) {
        const Expr element = y[(plane * points + at / taps) * beside + line];
        sum.set(sum + (weighted ? element * weight[batch * points * taps + at] : element));
      });
      x.store(i, sum);
    });
    return k.finish();
  }
};

void append_strides(std::vector<Argument>& arguments, const Array& x) {
  for (const std::int64_t stride : x.strides) arguments.emplace_back(stride);
}

std::int64_t reach(const Array& x) {
  std::int64_t far = x.numel();
  for (int dim = 0; dim < x.shape.size(); ++dim) far += x.shape[dim] * std::abs(x.strides[dim]);
  return far;
}

void blend(Gpu& gpu, const Array& x, const Array& index, const Array& other, Value& result, bool of_weight) {
  const Array& like = of_weight ? index : x;
  const Dims order = order_of(like.shape, like.strides);
  const Array made = gpu.allocate(result, dense_strides(result.shape(), order));
  if (made.numel() == 0) return;
  std::vector<Argument> arguments{
      x, index, other, made, made.numel(), x.shape[2], of_weight ? x.shape[1] : index.shape[2]};
  for (const Array& array : {x, index, other}) append_strides(arguments, array);
  for (const std::int64_t dim : made.shape) arguments.emplace_back(dim);
  const DType counted = index_type({reach(x), reach(index), reach(other), made.numel() + kThreads});
  gpu.launch(BlendKernel{x.dtype, index.dtype, counted, of_weight, order}, blocks_for(made.numel(), kThreads),
             arguments);
}

/// Computes made [batch, channels, size] from y [batch, channels, points], where indices [batch, points, taps] say
/// which element goes where. With one channel, `lines.beside` entries of the batch may be interleaved.
bool gather(Gpu& gpu, const Array& y, const Array& indices, const Array* weight, const Array& made,
            const IndexLines& lines, std::int64_t taps, const Value& cell) {
  const std::int64_t points = lines.count && indices.numel() ? indices.numel() / lines.count / taps : 0;
  if (points * taps * lines.beside > kMostOccurrences) return false;
  if (made.numel() == 0 && !cell) return true;
  const Occurrences found = find_occurrences(gpu, indices, lines, cell);
  if (made.numel() == 0) return true;
  std::vector<Argument> arguments{y};
  if (weight) arguments.emplace_back(*weight);
  arguments.emplace_back(made);
  OccurrenceReader::append(arguments, found, indices, lines);
  for (const std::int64_t number :
       {made.numel(), made.numel() / lines.count / lines.places, lines.places, points, taps})
    arguments.emplace_back(number);
  if (lines.beside > 1) arguments.emplace_back(lines.beside);
  const DType counted = index_type({made.numel() + kThreads, y.numel(), indices.numel(), lines.count * lines.places});
  gpu.launch(GatherKernel{y.dtype, indices.dtype, counted, weight != nullptr, lines.beside > 1},
             blocks_for(made.numel(), kThreads), arguments);
  return true;
}

}  // namespace

bool run(Gpu& gpu, const op::Blend&, Call call) {
  using Op = op::Blend;
  blend(gpu, read(call.in[Op::x]), read(call.in[Op::index]), read(call.in[Op::weight]), call.out[0], false);
  return true;
}

bool run(Gpu& gpu, const op::BlendWeightGrad&, Call call) {
  using Op = op::BlendWeightGrad;
  blend(gpu, read(call.in[Op::x]), read(call.in[Op::index]), read(call.in[Op::y]), call.out[0], true);
  return true;
}

bool run(Gpu& gpu, const op::BlendTranspose&, Call call) {
  using Op = op::BlendTranspose;
  Value held_y, held_index, held_weight;
  const Array y = gpu.read_contiguous(call.in[Op::y], held_y);
  const Array index = gpu.read_contiguous(call.in[Op::index], held_index);
  const Array weight = gpu.read_contiguous(call.in[Op::weight], held_weight);
  const Array made = gpu.allocate(call.out[0]);
  return gather(gpu, y, index, &weight, made, {y.shape[0], made.shape[2]}, index.shape[2], {});
}

bool run(Gpu& gpu, const op::MaxPoolGrad& op, Call call) {
  using Op = op::MaxPoolGrad;
  Array y = read(call.in[Op::y]), index = read(call.in[Op::indices]);
  // Each plane is a line with its own indices and one channel; those of an image may be interleaved.
  const Dims last = strides_in(y.shape, true);
  const bool interleaved = y.shape[1] > 1 && strided::same_order(y.shape, y.strides, last) &&
                           strided::same_order(index.shape, index.strides, last);
  Value held_y, held_index;
  if (!interleaved) {
    y = gpu.read_contiguous(call.in[Op::y], held_y);
    index = gpu.read_contiguous(call.in[Op::indices], held_index);
  }
  const Shape& shape = call.out[0].shape();
  const Array made = gpu.allocate(call.out[0], strides_in(shape, interleaved));
  const IndexLines lines{shape[0] * shape[1], numel(Shape(op.sizes.begin(), op.sizes.end())),
                         interleaved ? shape[1] : 1};
  const Value cell = gpu.check_cell(index.numel());
  if (!gather(gpu, y, index, nullptr, made, lines, 1, cell)) return false;
  gpu.check(cell, call,
            [kept = KeptOperand(call.in[Op::indices]), function = CalledAs::function(), sizes = op.sizes](auto found) {
              return wrong<IndexError>(
                  function, text("max_pool_grad: index ", kept.index(reported(found)), " is out of range for ", sizes));
            });
  return true;
}

}  // namespace kiln::gpu::family

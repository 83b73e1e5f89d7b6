// Convolutions of float32 that read x at all places without asking whether they lie in the padding, for tiles.
#include <algorithm>
#include <utility>

#include "kiln/compile/nest.hpp"

namespace kiln::compile {
namespace {

enum Place : int { kX, kWeight, kY };

/// x with what the convolution reads of its padding, in memory, contiguous in the last dimension.
View padded(Lowering& to, const op::Conv& conv, const View& x, const Shape& kernel, const Shape& y) {
  bool pads = false;
  Shape shape = x.shape;
  Dims begin = Dims::filled(x.shape.size(), 0), ones = Dims::filled(x.shape.size(), 1);
  for (int i = 0; i + 2 < x.shape.size(); ++i) {
    shape[i + 2] = (y[i + 2] - 1) * conv.stride[i] + (kernel[i + 2] - 1) * conv.dilation[i] + 1;
    begin[i + 2] = std::min(conv.padding[i], shape[i + 2]);  // the kernel may stand in the padding alone
    pads = pads || conv.padding[i] > 0 || shape[i + 2] > x.shape[i + 2];
  }
  if (!pads) {
    if (x.is_plain() && x.access().strides.back() == 1) return x;
    const auto gaps = to.stored_with_gaps(x);
    return gaps ? *gaps : to.stored(x);
  }
  const View room = to.buffer_for({shape, x.dtype()});
  // The margins of each dimension, in what the margins of those before it leave.
  Dims from = Dims::filled(shape.size(), 0);
  Shape left = shape;
  for (int dim = 2; dim < shape.size(); ++dim) {
    const std::int64_t inside = std::min(x.shape[dim], shape[dim] - begin[dim]), end = begin[dim] + inside;
    for (const auto& [at, size] : {std::pair{std::int64_t{0}, begin[dim]}, std::pair{end, shape[dim] - end}}) {
      Shape margin = left;
      margin[dim] = size;
      if (numel(margin) == 0) continue;
      Dims first = from;
      first[dim] = at;
      to.store(number_view(0.0, x.dtype(), margin), whole(sliced(room, first, ones, margin)));
    }
    from[dim] = begin[dim];
    left[dim] = inside;
  }
  const Dims origin = Dims::filled(shape.size(), 0);
  if (numel(left) > 0) to.store(sliced(x, origin, ones, left), whole(sliced(room, from, ones, left)));
  return room;
}

/// How many places a channel has when those between its rows are counted too; 0 where the rows do not follow each other.
std::int64_t flat_places(const op::Conv& conv, const Access& x, const Shape& y) {
  std::int64_t places = 1;
  for (int i = y.size() - 3; i >= 0; --i) {
    const std::int64_t stride = x.strides[static_cast<std::size_t>(i + 2)];
    if (conv.stride[i] != 1 || stride < places) return 0;
    places += (y[i + 2] - 1) * stride;
  }
  return places;
}

}  // namespace

std::optional<View> convolved_flat(Lowering& to, const op::Conv& conv, const View& x, const View& weight,
                                   const View& start, const Desc& desc) {
  constexpr std::int64_t kALot = 16;
  constexpr double kMostPlaces = 1.7;  // of those that mean something
  const Shape& y = desc.shape;
  const bool floats = desc.dtype == DType::F32 && x.dtype() == DType::F32 && weight.dtype() == DType::F32;
  if (!to.tiles || !floats || numel(y) == 0 || numel(weight.shape) == 0 || y.size() < 3) return {};
  const std::int64_t useful = numel(y) / (y[0] * y[1]);
  const bool moves_by_one = std::ranges::all_of(conv.stride, [](std::int64_t stride) { return stride == 1; });
  if ((moves_by_one ? useful : y.back()) < kALot) return {};
  const View in = padded(to, conv, x, weight.shape, y), numbers = to.plain(weight);
  const std::int64_t places = flat_places(conv, in.access(), y);
  const bool flat = places > 0 && static_cast<double>(places) <= kMostPlaces * static_cast<double>(useful);
  const std::int64_t outs = y[1] / conv.groups, ins = x.shape[1] / conv.groups;

  Contraction sum{.a = in, .b = numbers, .result = {}, .outer = {}, .reduced = {}, .inner = {}, .start = start};
  sum.outer = {{y[0], {{kX, 0}, {kY, 0}}},
               {conv.groups, {{kX, 1, ins}, {kWeight, 0, outs}, {kY, 1, outs}}},
               {outs, {{kWeight, 0}, {kY, 1}}}};
  sum.reduced = {{ins, {{kX, 1}, {kWeight, 1}}}};
  for (int i = 0; i + 2 < y.size(); ++i) {
    const std::int64_t step =
        flat ? conv.dilation[i] * in.access().strides[static_cast<std::size_t>(i + 2)] : conv.dilation[i];
    sum.reduced.push_back({weight.shape[i + 2], {{kX, flat ? 2 : i + 2, step}, {kWeight, i + 2}}});
    if (!flat) sum.inner.push_back({y[i + 2], {{kX, i + 2, conv.stride[i]}, {kY, i + 2}}});
  }
  if (!flat) {
    sum.result = to.buffer_for(desc);
    const View result = sum.result;
    if (!contract(to, std::move(sum)) && !start.value.in.empty()) return combined(kAdd, desc.dtype, y, {result, start});
    return result;
  }
  // Channels of `places` elements, and each operand with one dimension for all of them.
  const Shape channels{y[0], y[1], places};
  const auto one_row = [&](View view, const Shape& shape, std::int64_t stride) {
    view.shape = shape;
    Counts& strides = view.value.in[view.value.value.index].access.strides;
    strides.resize(3);
    strides[2] = stride;
    return view;
  };
  sum.inner = {{places, {{kX, 2}, {kY, 2}}}};
  sum.a = one_row(in, {x.shape[0], x.shape[1], places}, 1);
  if (!start.value.in.empty()) sum.start = one_row(start, channels, 0);
  sum.result = to.buffer_for({channels, desc.dtype});
  View result = sum.result;
  const View added = sum.start;
  if (!contract(to, std::move(sum)) && !added.value.in.empty())
    result = to.stored(combined(kAdd, desc.dtype, channels, {result, added}));
  result.shape = y;
  Counts& strides = result.value.in[result.value.value.index].access.strides;
  strides.resize(2);
  for (int i = 0; i + 2 < y.size(); ++i) strides.push_back(in.access().strides[static_cast<std::size_t>(i + 2)]);
  return result;
}

}  // namespace kiln::compile

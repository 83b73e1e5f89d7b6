#include "kiln/backend/gpu/family/rows/row.hpp"

#include <algorithm>
#include <bit>

namespace kiln::gpu::family {

std::optional<RowShape> RowShape::of(const Gpu& gpu, std::int64_t rows, std::int64_t length,
                                     std::span<const Array> arrays, int held, std::int64_t line) {
  // How many elements a thread can hold, and how many loads are worth having in flight.
  constexpr int kElements = 32, kVectors = 16;
  // An array with fewer elements than the rows have is a channel operand, indexed by place in the row.
  std::vector<Dims> strides;
  for (const Array& array : arrays) strides.push_back({array.numel() < rows * length ? 0 : line, 1});
  const int width = width_of({Shape{rows * length / line, line}, strides}, arrays);
  return of(gpu, rows, length, width, std::max(1, std::min(kVectors, kElements / width) / held));
}

std::optional<RowShape> RowShape::of(const Gpu& gpu, std::int64_t rows, std::int64_t length, int width,
                                     std::int64_t most) {
  const int most_lanes = std::min(512, gpu.driver().capabilities().most_threads);
  const DType index = index_type({Shape{rows, length}, {Dims{length, 1}}});
  RowShape shape{.index = index, .lanes = kLanes, .vectors = 1, .width = width, .full = false};
  const std::int64_t vectors = length / shape.width;
  if (vectors <= kLanes) {
    shape.lanes = static_cast<int>(std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(vectors, 1))));
  } else {
    while (shape.lanes * most < vectors && shape.lanes < most_lanes)
      shape.lanes = shape.lanes == kLanes ? 128 : shape.lanes * 2;
    if (shape.lanes * most < vectors) return std::nullopt;
    shape.vectors = static_cast<int>((vectors + shape.lanes - 1) / shape.lanes);
  }
  shape.full = std::int64_t{shape.lanes} * shape.vectors == vectors;
  return shape;
}

Expr Row::turn(Builder& k, const RowShape& shape) {
  return k.block().as(shape.index) * shape.teams() + (k.thread() / shape.lanes).as(shape.index);
}

Row::Row(Builder& k, const RowShape& shape, const Sizes& sizes, const Expr& row)
    : k_(k),
      shape_(shape),
      length_(sizes.length),
      lane_(k.thread() % shape.lanes),
      number_(min(row, sizes.rows - 1)),
      inside_(row < sizes.rows) {
  for (int i = 0; i < shape.vectors; ++i) {
    const Expr place = (lane_ + i * shape.lanes).as(shape.index) * shape.width;
    holds_.push_back(shape.full ? k.boolean(true) : place < length_);
    places_.push_back(shape.full ? place : min(place, length_ - shape.width));
  }
}

Exprs Row::load(const Buffer& from, const Expr& base) const {
  Exprs all;
  for (const Expr& place : places_)
    for (const Expr& element : load_line(from, base + place, shape_.width)) all.push_back(element);
  return all;
}

void Row::store(const Buffer& to, std::span<const Expr> elements) const {
  const auto width = static_cast<std::size_t>(shape_.width);
  k_.when(inside_, [&] {
    for (std::size_t i = 0; i < places_.size(); ++i)
      k_.when(holds_[i], [&] { store_line(to, number_ * length_ + places_[i], elements.subspan(i * width, width)); });
  });
}

Exprs Row::sums(std::span<const Exprs> lists) const {
  const auto width = static_cast<std::size_t>(shape_.width);
  Exprs totals;
  for (const Exprs& elements : lists) {
    const Expr zero = literal_like(elements[0], 0.0);
    Expr total;
    for (std::size_t i = 0; i < places_.size(); ++i) {
      Expr part = elements[i * width];
      for (std::size_t j = 1; j < width; ++j) part = part + elements[i * width + j];
      const Expr held = select(holds_[i], part, zero);
      total = i == 0 ? held : total + held;
    }
    totals.push_back(total);
  }
  return fold_lanes(k_, shape_.lanes, totals, [](const Exprs& x, const Exprs& y) {
    return each([](const Expr& a, const Expr& b) { return a + b; }, x, y);
  });
}

Exprs Row::fold(const Folding& folding, std::span<const Exprs> lists) const {
  const auto width = static_cast<std::size_t>(shape_.width);
  Exprs state = folding.nothing();
  for (std::size_t i = 0; i < lists[0].size(); ++i) {
    const Expr& holds = holds_[i / width];
    Exprs element;
    for (const Exprs& list : lists) element.push_back(list[i]);
    const Expr place = (places_[i / width] + static_cast<int>(i % width)).as(DType::U32);
    const Exprs next = folding.add(state, element, place);
    state = each([&](const Expr& with, const Expr& without) { return select(holds, with, without); }, next, state);
  }
  return fold_lanes(k_, shape_.lanes, folding.settle(state), folding.merge);
}

Expr Row::largest(const Exprs& elements) const {
  Expr most = elements[0];
  for (std::size_t i = 1; i < elements.size(); ++i) most = max(most, elements[i]);
  return fold_lanes(k_, shape_.lanes, {most}, [](const Exprs& x, const Exprs& y) { return Exprs{max(x[0], y[0])}; })[0];
}

}  // namespace kiln::gpu::family

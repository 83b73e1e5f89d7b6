#include "kiln/backend/gpu/family/pointwise.hpp"

#include <algorithm>

namespace kiln::gpu::family {

Pointwise::Pointwise(Builder& k, const PointwiseShape& shape, std::span<const DType> inputs,
                     std::span<const DType> outputs)
    : k_(k), shape_(shape) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool number = shape.inputs[i] == Layout::Number;
    numbers_.push_back(number ? k.number(inputs[i]) : Expr());
    inputs_.push_back(number ? Buffer() : k.input(inputs[i]));
  }
  for (const DType dtype : outputs) outputs_.push_back(shape.in_place ? k.both(dtype) : k.output(dtype));
  items_ = k.number(shape.index);
  const auto arrays = std::ranges::count_if(shape.inputs, [](Layout layout) { return layout != Layout::Number; });
  places_.emplace(k, shape.index, shape.rank, static_cast<int>(arrays) + 1);
}

void Pointwise::run(FunctionRef<std::vector<Expr>(std::span<const Expr>)> element) {
  const int width = shape_.width;
  const auto lanes = static_cast<std::size_t>(width);
  struct Item {
    Expr number;
    std::vector<Expr> at;
    std::vector<std::vector<Expr>> loaded;
  };
  const auto load = [&](const Expr& number, const Expr& inside) {
    Item item{number, places_->of(inside * width), std::vector<std::vector<Expr>>(inputs_.size())};
    std::size_t place = 0;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      std::vector<Expr>& loaded = item.loaded[i];
      switch (shape_.inputs[i]) {
        case Layout::Number: loaded.assign(lanes, numbers_[i]); break;
        case Layout::InLine: loaded = load_line(inputs_[i], item.at[place++], width); break;
        case Layout::Repeated: loaded.assign(lanes, inputs_[i][item.at[place++]]); break;
        case Layout::Apart: loaded.push_back(inputs_[i][item.at[place++]]); break;
      }
    }
    return item;
  };
  const auto make = [&](const Item& item) {
    std::vector<std::vector<Expr>> made(outputs_.size());
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      std::vector<Expr> in;
      for (const auto& each : item.loaded) in.push_back(each[lane]);
      const std::vector<Expr> all = element(in);
      for (std::size_t i = 0; i < made.size(); ++i) made[i].push_back(all[i]);
    }
    for (std::size_t i = 0; i < made.size(); ++i) store_line(outputs_[i], item.at.back(), made[i]);
  };
  if (shape_.vectors == 1) {
    const Expr number = k_.place(shape_.index);
    return k_.when(number < items_, [&] { make(load(number, number)); });
  }
  // All loads come before any computation; threads past the end load the last item again.
  std::vector<Item> items;
  for (int i = 0; i < shape_.vectors; ++i) {
    const Expr first = (k_.block().as(shape_.index) * shape_.vectors + i) * kThreads;
    const Expr number = first + k_.thread().as(shape_.index);
    items.push_back(load(number, min(number, items_ - 1)));
  }
  for (const Item& item : items) k_.when(item.number < items_, [&] { make(item); });
}

PointwiseLaunch::PointwiseLaunch(const Shape& sizes, std::span<const PointwiseOperand> inputs,
                                 std::span<const Array> outputs) {
  std::vector<Array> arrays;
  std::vector<Dims> strides;
  for (const PointwiseOperand& input : inputs) {
    arguments.push_back(input.number ? *input.number : Argument(input.array));
    if (input.number) continue;
    arrays.push_back(input.array);
    strides.push_back(strided::broadcast_strides(input.array.shape, input.array.strides, sizes));
  }
  for (const Array& output : outputs) arguments.emplace_back(output);
  strides.push_back(outputs[0].strides);
  // Neighbouring threads take neighbouring elements of the outputs.
  const Loop loop = merged(sizes, strides, order_of(sizes, outputs[0].strides));
  arrays.insert(arrays.end(), outputs.begin(), outputs.end());
  Loop wide = loop;
  wide.strides.resize(arrays.size(), loop.strides.back());
  shape.width = width_of(wide, arrays);
  std::size_t a = 0;
  for (const PointwiseOperand& input : inputs) {
    const std::int64_t inner = input.number || loop.sizes.empty() ? 1 : loop.strides[a].back();
    shape.inputs.push_back(input.number       ? Layout::Number
                           : shape.width == 1 ? Layout::Apart
                           : inner == 0       ? Layout::Repeated
                                              : Layout::InLine);
    if (!input.number) ++a;
  }
  shape.index = index_type(loop);
  shape.rank = loop.sizes.size();
  items = numel(sizes) / shape.width;
  blocks = blocks_for(items, Pointwise::kThreads);
  arguments.emplace_back(items);
  Offsets::append(arguments, loop);
}

void PointwiseLaunch::take_two() {
  constexpr std::int64_t kMany = std::int64_t{1} << 20;
  if (items < kMany || shape.width == 1) return;
  shape.vectors = 2;
  blocks = blocks_for(items, 2 * Pointwise::kThreads);
}

}  // namespace kiln::gpu::family

#include "kiln/backend/gpu/family/pointwise.hpp"

#include <algorithm>

namespace kiln::gpu::family {

Pointwise::Pointwise(Builder& k, const PointwiseShape& shape, std::span<const DType> inputs,
                     std::span<const DType> outputs)
    : k_(k), shape_(shape) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const bool number = shape.inputs[i] == Lies::Number;
    numbers_.push_back(number ? k.number(inputs[i]) : Expr());
    inputs_.push_back(number ? Buffer() : k.input(inputs[i]));
  }
  for (const DType dtype : outputs) outputs_.push_back(shape.in_place ? k.both(dtype) : k.output(dtype));
  items_ = k.number(shape.index);
  const auto arrays = std::ranges::count_if(shape.inputs, [](Lies lies) { return lies != Lies::Number; });
  places_.emplace(k, shape.index, shape.rank, static_cast<int>(arrays) + 1);
}

void Pointwise::run(FunctionRef<std::vector<Expr>(std::span<const Expr>)> element) {
  const int width = shape_.width;
  const auto lanes = static_cast<std::size_t>(width);
  const Expr item = k_.place(shape_.index);
  k_.when(item < items_, [&] {
    const std::vector<Expr> at = places_->of(item * width);
    std::vector<std::vector<Expr>> loaded(inputs_.size());
    std::size_t place = 0;
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      switch (shape_.inputs[i]) {
        case Lies::Number: loaded[i].assign(lanes, numbers_[i]); break;
        case Lies::InLine: loaded[i] = load_line(inputs_[i], at[place++], width); break;
        case Lies::Repeated: loaded[i].assign(lanes, inputs_[i][at[place++]]); break;
        case Lies::Apart: loaded[i].push_back(inputs_[i][at[place++]]); break;
      }
    }
    std::vector<std::vector<Expr>> made(outputs_.size());
    for (std::size_t lane = 0; lane < lanes; ++lane) {
      std::vector<Expr> in;
      for (const auto& each : loaded) in.push_back(each[lane]);
      const std::vector<Expr> all = element(in);
      for (std::size_t i = 0; i < made.size(); ++i) made[i].push_back(all[i]);
    }
    for (std::size_t i = 0; i < made.size(); ++i) store_line(outputs_[i], at.back(), made[i]);
  });
}

PointwiseLaunch::PointwiseLaunch(const Shape& sizes, std::span<const Operand> inputs, std::span<const Array> outputs) {
  std::vector<Array> arrays;
  std::vector<Dims> strides;
  for (const Operand& input : inputs) {
    arguments.push_back(input.number ? *input.number : Argument(input.array));
    if (input.number) continue;
    arrays.push_back(input.array);
    strides.push_back(strided::broadcast_strides(input.array.shape, input.array.strides, sizes));
  }
  for (const Array& output : outputs) arguments.emplace_back(output);
  strides.push_back(outputs[0].strides);
  const Loop loop = merged(sizes, strides);
  arrays.insert(arrays.end(), outputs.begin(), outputs.end());
  Loop wide = loop;
  wide.strides.resize(arrays.size(), loop.strides.back());
  shape.width = width_of(wide, arrays);
  std::size_t a = 0;
  for (const Operand& input : inputs) {
    const std::int64_t inner = input.number || loop.sizes.empty() ? 1 : loop.strides[a].back();
    shape.inputs.push_back(input.number       ? Lies::Number
                           : shape.width == 1 ? Lies::Apart
                           : inner == 0       ? Lies::Repeated
                                              : Lies::InLine);
    if (!input.number) ++a;
  }
  shape.index = index_type(loop);
  shape.rank = loop.sizes.size();
  const std::int64_t items = numel(sizes) / shape.width;
  blocks = blocks_for(items, Pointwise::kThreads);
  arguments.emplace_back(items);
  Places::append(arguments, loop);
}

}  // namespace kiln::gpu::family

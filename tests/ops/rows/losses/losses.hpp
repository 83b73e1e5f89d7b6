// What rows of losses share: the loop over elements, and what becomes of them.
#pragma once
#include "kiln/ops/loss/loss.hpp"
#include "tests/ops/harness.hpp"

namespace kiln::test {

using Loss = std::function<double(const std::vector<Array>& in, const Dims& i)>;

/// Elements of a loss, one for each index of `shape`, reduced.
inline std::vector<Array> reduced(const Shape& shape, Reduction reduction,
                                  const std::function<double(const Dims&)>& loss) {
  Array each(shape);
  double total = 0;
  each_index(shape, [&](const Dims& i) { total += each(i) = loss(i); });
  if (reduction == Reduction::None) return {each};
  if (reduction == Reduction::Mean) total /= static_cast<double>(each.v.size());
  if (reduction == Reduction::BatchMean) total /= static_cast<double>(shape[0]);
  return {Array({}, total)};
}

/// An elementwise loss of operands of one shape.
inline OpCase elementwise_row(std::string name, std::vector<OperandSpec> operands, Reduction reduction,
                              std::function<Value(const Values&)> function, Loss loss) {
  const Shape shape = operands[0].shape;
  return {.name = std::move(name),
          .operands = std::move(operands),
          .function = [=](const Values& in) { return Values{function(in)}; },
          .meaning =
              [=](const std::vector<Array>& in) {
                return reduced(shape, reduction, [&](const Dims& i) { return loss(in, i); });
              },
          .tolerance = 4};
}

}  // namespace kiln::test

// What a function of tensors gives forwards, in its gradients and in theirs, as bits.
#pragma once
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "kiln/autodiff/backward.hpp"
#include "kiln/ops/functions.hpp"

namespace kiln::test {

using Function = std::function<Values(const Values&)>;
using Bits = std::vector<TensorData>;

inline bool same_bits(const Bits& a, const Bits& b) {
  return std::ranges::equal(a, b, [](const TensorData& x, const TensorData& y) {
    return x.shape() == y.shape() && x.dtype() == y.dtype() && std::ranges::equal(x.bytes(), y.bytes());
  });
}

/// The sum of all floats among `values`, each times a number of its own.
inline Value weighted(const Values& values) {
  Value total;
  for (const Value& value : values) {
    if (!is_float(value.dtype())) continue;
    std::vector<double> numbers(static_cast<std::size_t>(numel(value.shape())));
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = std::cos(static_cast<double>(i) + 1);
    const TensorData weights = TensorData::of<double>(value.shape(), numbers).to(value.dtype());
    const Value part = sum(value * from_data(weights, value.device()));
    total = total ? total + part : part;
  }
  return total;
}

/// 'f': the function's results. 'b': the gradients of those operands that are tracked. 'd': the gradients of those.
inline Bits run_pass(char pass, const Function& function, const Values& operands) {
  Bits bits;
  const auto keep = [&](const Values& values) {
    for (const Value& value : values) bits.push_back(value.data());
  };
  const Values results = function(operands);
  Values wrt;
  for (const Value& operand : operands)
    if (operand.tracked()) wrt.push_back(operand);
  const Value loss = pass == 'f' || wrt.empty() ? Value() : weighted(results);
  if (!loss.tracked()) {
    keep(results);
    return bits;
  }
  const Values gradients = grad(loss, wrt, {.create_graph = pass == 'd'});
  const Value again = pass == 'd' ? weighted(gradients) : Value();
  keep(again.tracked() ? grad(again, wrt) : gradients);
  return bits;
}

/// Fills memory that nobody uses with `number`, in blocks as large as those of `like`: who reads what has not been
/// written finds that, and not what was right the last time.
inline void soil(const Values& like, double number) {
  if (like.empty()) return;
  Values blocks;
  for (const Value& value : like)
    for (int i = 0; i < 3; ++i) {
      const double filling = is_float(value.dtype()) ? number : 1;
      blocks.push_back(full(value.shape(), filling, value.device(), value.dtype()));
    }
  like[0].device().sync();
}

}  // namespace kiln::test

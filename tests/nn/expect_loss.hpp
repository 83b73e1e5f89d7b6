// A loss as a module, with each reduction.
#pragma once
#include <algorithm>
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "kiln/nn/loss/loss.hpp"

namespace kiln {

using Doubles = std::vector<double>;

/// forward() with each reduction, and forward_each(), are those of `each`.
template <class Loss, class... Operands>
void expect_loss(Loss loss, const Doubles& each, const Operands&... operands) {
  const auto losses = loss.forward_each(operands...);
  const auto found = losses.template to_vector<double>();
  ASSERT_EQ(found.size(), each.size());
  double sum = 0;
  for (std::size_t i = 0; i < each.size(); ++i) {
    EXPECT_NEAR(found[i], each[i], 1e-9 * std::max(1.0, std::abs(each[i]))) << i;
    sum += each[i];
  }
  const auto value = [&](Reduction reduction) {
    loss.reduction = reduction;
    return loss.forward(operands...).template item<double>();
  };
  EXPECT_NEAR(value(Reduction::Sum), sum, 1e-8);
  EXPECT_NEAR(value(Reduction::Mean), sum / static_cast<double>(each.size()), 1e-8);
  EXPECT_NEAR(value(Reduction::BatchMean), sum / static_cast<double>(losses.dim(0)), 1e-8);
  EXPECT_THROW(value(Reduction::None), ArgumentError);
}

}  // namespace kiln

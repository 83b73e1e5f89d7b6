// Collectives as a user writes them, of a rank by itself; what several make of them is in tests/collective.
#include "kiln/tensor/collective.hpp"

#include <gtest/gtest.h>

#include "kiln/tensor/create.hpp"
#include "tests/tensor/same.hpp"

namespace kiln {
namespace {

TEST(CollectiveTensors, OfARankByItselfAreWhatItHas) {
  const auto x = Tensor<2>::of({{1, -2}, {3, 4}}, Device::best());
  const auto mean = all_reduce(x, alone(), Combine::Mean), sent = broadcast(x, alone());
  const auto gathered = all_gather(x, alone()), largest = reduce_scatter(x, alone(), Combine::Max);
  for (const Tensor<2>& result : {all_reduce(x, alone()), mean, sent, gathered, largest}) EXPECT_TRUE(same(result, x));
  const auto count = Tensor<0, Int>::full({}, 7, Device::best());
  EXPECT_EQ(all_reduce(count, alone()).item(), 7);
}

}  // namespace
}  // namespace kiln

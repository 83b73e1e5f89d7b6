// The losses of sequences as users call them.
#include "kiln/tensor/ctc_transducer.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "kiln/tensor/create.hpp"

namespace kiln {
namespace {

// Two frames, one label of two classes: blank-label, label-blank and label-label, each of probability 1/4.
TEST(CtcLoss, SumsOverAlignments) {
  const Device device = Device::cpu().autodiff();
  const auto logits = zeros({2, 1, 2}, device).require_grad();
  const auto one = Tensor<2, Int>::of({{1}}, device);
  const auto frames = Tensor<1, Int>::of({2}, device), labels = Tensor<1, Int>::of({1}, device);
  const Tensor<0> loss = ctc_loss(logits.log_softmax(2), one, frames, labels);
  EXPECT_NEAR(loss.item(), -std::log(0.75), 1e-6);
  // In each frame a blank has the probability 1/3 among those paths, and 1/2 before they are known.
  const auto slope = loss.backward().of(logits).to_vector<double>();
  for (const std::size_t t : {0, 2}) {
    EXPECT_NEAR(slope[t], 0.5 - 1.0 / 3, 1e-6);
    EXPECT_NEAR(slope[t + 1], 0.5 - 2.0 / 3, 1e-6);
  }
}

// Two frames and one label: it comes in the first or in the second; three steps of probability 1/2 either way.
TEST(RnntLoss, SumsOverAlignments) {
  const Device device = Device::cpu();
  const auto loss = rnnt_loss(zeros({1, 2, 2, 2}, device), Tensor<2, Int>::of({{1}}, device),
                              Tensor<1, Int>::of({2}, device), Tensor<1, Int>::of({1}, device));
  EXPECT_NEAR(loss.item(), -std::log(0.25), 1e-6);
}

}  // namespace
}  // namespace kiln

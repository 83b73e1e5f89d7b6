// Activations and losses at infinities: where there is a limit, it is the value.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kiln/autodiff/backward.hpp"
#include "kiln/ops/elementwise/activation.hpp"
#include "kiln/ops/loss/loss.hpp"
#include "tests/support/backends/devices.hpp"

namespace kiln::test {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

Value number(double x, DType dtype, const Device& device) {
  return from_data(TensorData::of<double>({1}, std::vector<double>{x}).to(dtype), device);
}

/// What a function and its slope are at -infinity and infinity; where the slope is NaN, nobody says.
struct Limits {
  std::string name;
  std::function<Value(const Value&)> function;
  double low, high, low_slope, high_slope;
};

const Limits kActivations[] = {
    {"relu", [](const Value& x) { return relu(x); }, 0, kInf, 0, 1},
    {"relu6", [](const Value& x) { return relu6(x); }, 0, 6, 0, 0},
    {"squared_relu", [](const Value& x) { return square(relu(x)); }, 0, kInf, 0, kInf},
    {"leaky_relu", [](const Value& x) { return leaky_relu(x, 0.5); }, -kInf, kInf, 0.5, 1},
    {"thresholded_relu", [](const Value& x) { return thresholded_relu(x, 1.0); }, 0, kInf, 0, 1},
    {"threshold", [](const Value& x) { return threshold(x, 1, 7); }, 7, kInf, 0, 1},
    {"elu", [](const Value& x) { return elu(x, 2.0); }, -2, kInf, 0, 1},
    {"celu", [](const Value& x) { return celu(x, 2.0); }, -2, kInf, 0, 1},
    {"selu", [](const Value& x) { return selu(x); }, -1.7580993408473766, kInf, 0, 1.0507009873554805},
    {"gelu", [](const Value& x) { return gelu(x); }, 0, kInf, 0, 1},
    {"gelu_tanh", [](const Value& x) { return gelu_tanh(x); }, 0, kInf, 0, 1},
    {"quick_gelu", [](const Value& x) { return silu(x * 1.702) / 1.702; }, 0, kInf, 0, 1},
    {"silu", [](const Value& x) { return silu(x); }, 0, kInf, 0, 1},
    {"mish", [](const Value& x) { return mish(x); }, 0, kInf, 0, 1},
    {"softplus", [](const Value& x) { return softplus(x); }, 0, kInf, 0, 1},
    {"softplus_beta", [](const Value& x) { return softplus(x, 2, 20); }, 0, kInf, 0, 1},
    {"sigmoid", [](const Value& x) { return sigmoid(x); }, 0, 1, 0, 0},
    {"log_sigmoid", [](const Value& x) { return log_sigmoid(x); }, -kInf, 0, 1, 0},
    {"hard_sigmoid", [](const Value& x) { return hard_sigmoid(x, 0.2, 0.5); }, 0, 1, 0, 0},
    {"hard_sigmoid_6", [](const Value& x) { return hard_sigmoid(x); }, 0, 1, 0, 0},
    {"hard_swish", [](const Value& x) { return hard_swish(x); }, 0, kInf, 0, 1},
    {"tanh", [](const Value& x) { return tanh(x); }, -1, 1, 0, 0},
    {"hardtanh", [](const Value& x) { return hardtanh(x, -2, 3); }, -2, 3, 0, 0},
    {"softsign", [](const Value& x) { return softsign(x); }, -1, 1, 0, 0},
    {"tanhshrink", [](const Value& x) { return tanhshrink(x); }, -kInf, kInf, 1, 1},
    {"hard_shrink", [](const Value& x) { return hard_shrink(x, 0.5); }, -kInf, kInf, 1, 1},
    {"soft_shrink", [](const Value& x) { return soft_shrink(x, 0.5); }, -kInf, kInf, 1, 1},
    {"shrink", [](const Value& x) { return shrink(x, 0.5, 0.25); }, -kInf, kInf, 1, 1},
    {"smooth_l1", [](const Value& x) { return smooth_l1(x, 2.0); }, kInf, kInf, -1, 1},
};

void expect_limits(const Limits& each, const std::string& name, const Device& device, DType dtype) {
  const double near = dtype == DType::F64 ? 1e-12 : dtype == DType::F32 ? 1e-6 : 1e-2;
  // Far from zero all is as it is there: what overflows on the way must not show.
  const double far = dtype == DType::F16 ? 6e4 : dtype == DType::F64 ? 1e300 : 1e38;
  const auto same = [&](double found, double right, const std::string& what) {
    if (std::isinf(right)) {
      EXPECT_GT(found * (right > 0 ? 1 : -1), 1000) << what;
    } else {
      EXPECT_NEAR(found, right, near * std::max(1.0, std::abs(right))) << what;
    }
  };
  for (const double x : {-kInf, kInf, -far, far}) {
    const Value at = number(x, dtype, device.autodiff()).require_grad(), y = each.function(at);
    const std::string what = text(each.name, " at ", x, ", ", name, " ", dtype);
    const double right = x < 0 ? each.low : each.high;
    if (std::isinf(x))
      EXPECT_TRUE(y.item() == right || std::abs(y.item() - right) <= near * std::max(1.0, std::abs(right)))
          << what << ": " << y.item();
    else same(y.item(), right, what);
    const Values slopes = grad(sum(y), Values{at}, {.create_graph = true});
    same(slopes[0].item(), x < 0 ? each.low_slope : each.high_slope, what + ", slope");
    if (slopes[0].tracked()) {
      const double curve = grad(sum(slopes[0]), Values{at})[0].item();
      EXPECT_FALSE(std::isnan(curve)) << what << ", second slope";
    }
  }
}

TEST(Limits, OfActivationsAreTheirValues) {
  for (const auto& [name, device] : devices_under_test())
    for (const Limits& each : kActivations)
      for (const DType dtype : {DType::F32, DType::F64, DType::F16, DType::BF16})
        expect_limits(each, name, device, dtype);
}
TEST(Limits, OfActivationsAreTheirValuesOnGpus) {
  for (const Limits& each : kActivations) expect_limits(each, "simulated", device_named("simulated"), DType::F32);
}

/// A loss of one x and its target; `slope` of NaN: nobody says.
struct LossAt {
  std::string name;
  std::function<Value(const Value& x, const Value& t)> function;
  double x, target, loss, slope;
};

Value sum_of(const Value& loss) { return reshape(loss, {}); }

const LossAt kLosses[] = {
    {"mse", [](const Value& x, const Value& t) { return mse_loss(x, t); }, kInf, 2, kInf, kInf},
    {"l1", [](const Value& x, const Value& t) { return l1_loss(x, t); }, -kInf, 2, kInf, -1},
    {"smooth_l1", [](const Value& x, const Value& t) { return smooth_l1_loss(x, t); }, kInf, 2, kInf, 1},
    {"huber", [](const Value& x, const Value& t) { return huber_loss(x, t, 3); }, -kInf, 2, kInf, -3},
    {"bce_right_high", [](const Value& x, const Value& t) { return binary_cross_entropy_with_logits(x, t); }, kInf, 1,
     0, 0},
    {"bce_right_low", [](const Value& x, const Value& t) { return binary_cross_entropy_with_logits(x, t); }, -kInf, 0,
     0, 0},
    {"bce_wrong_high", [](const Value& x, const Value& t) { return binary_cross_entropy_with_logits(x, t); }, kInf, 0,
     kInf, 1},
    {"bce_wrong_low", [](const Value& x, const Value& t) { return binary_cross_entropy_with_logits(x, t); }, -kInf, 1,
     kInf, -1},
    {"bce_between", [](const Value& x, const Value& t) { return binary_cross_entropy_with_logits(x, t); }, kInf, 0.25,
     kInf, 0.75},
    {"focal_right", [](const Value& x, const Value& t) { return sigmoid_focal_loss(x, t); }, kInf, 1, 0, 0},
    {"focal_wrong", [](const Value& x, const Value& t) { return sigmoid_focal_loss(x, t); }, -kInf, 1, kInf,
     std::nan("")},
    {"kl_div_impossible", [](const Value& x, const Value& t) { return kl_div(x, t, false, Reduction::Sum); }, -kInf, 0,
     0, 0},
    {"kl_div_missed", [](const Value& x, const Value& t) { return kl_div(x, t, false, Reduction::Sum); }, -kInf, 0.5,
     kInf, -0.5},
    {"kl_div_log_impossible", [](const Value& x, const Value& t) { return kl_div(x, t, true, Reduction::Sum); }, -1,
     -kInf, 0, 0},
    {"kl_div_log_both", [](const Value& x, const Value& t) { return kl_div(x, t, true, Reduction::Sum); }, -kInf, -kInf,
     0, 0},
    {"poisson_none", [](const Value& x, const Value& t) { return poisson_nll_loss(x, t); }, -kInf, 0, 0, 0},
    {"poisson_missed", [](const Value& x, const Value& t) { return poisson_nll_loss(x, t); }, -kInf, 3, kInf, -3},
    {"poisson_too_high", [](const Value& x, const Value& t) { return poisson_nll_loss(x, t); }, kInf, 3, kInf, kInf},
    {"poisson_rate", [](const Value& x, const Value& t) { return poisson_nll_loss(x, t, {.log_input = false}); }, kInf,
     3, kInf, 1},
    {"gaussian", [](const Value& x, const Value& t) { return gaussian_nll_loss(x, t, ones_like(t)); }, kInf, 3, kInf,
     kInf},
    {"hinge_embedding", [](const Value& x, const Value& t) { return hinge_embedding_loss(x, t); }, kInf, -1, 0, 0},
    {"margin_ranking", [](const Value& x, const Value& t) { return margin_ranking_loss(x, zeros_like(t), t); }, kInf, 1,
     0, 0},
    {"soft_margin_right", [](const Value& x, const Value& t) { return soft_margin_loss(x, t); }, -kInf, -1, 0, 0},
    {"soft_margin_wrong", [](const Value& x, const Value& t) { return soft_margin_loss(x, t); }, -kInf, 1, kInf, -1},
    {"multilabel_soft_margin", [](const Value& x, const Value& t) { return multilabel_soft_margin_loss(x, t); }, kInf,
     1, 0, 0},
};

TEST(Limits, OfLossesAreTheirValues) {
  for (const auto& [name, device] : devices_under_test())
    for (const LossAt& each : kLosses)
      for (const DType dtype : {DType::F32, DType::F64}) {
        const Value x = number(each.x, dtype, device.autodiff()).require_grad(),
                    t = number(each.target, dtype, device.autodiff());
        const Value loss = sum_of(each.function(x, t));
        const std::string what = text(each.name, ", ", name, " ", dtype);
        EXPECT_EQ(loss.item(), each.loss) << what;
        if (std::isnan(each.slope)) continue;
        EXPECT_EQ(grad(loss, Values{x})[0].item(), each.slope) << what;
      }
}

// A class that nobody wants may be impossible: 0 log 0 is 0. log(1 + e) - 1 / 2 by hand.
TEST(Limits, OfImpossibleClassesAreNothing) {
  for (const auto& [name, device] : devices_under_test()) {
    const Value logits =
        from_data(TensorData::of<double>({1, 3}, std::vector<double>{-kInf, 0, 1}).to(DType::F32), device.autodiff())
            .require_grad();
    const Value shares =
        from_data(TensorData::of<double>({1, 3}, std::vector<double>{0, 0.5, 0.5}).to(DType::F32), device.autodiff())
            .require_grad();
    const Value loss = cross_entropy(logits, shares);
    EXPECT_NEAR(loss.item(), std::log1p(std::exp(1.0)) - 0.5, 1e-6) << name;
    const Values grads = grad(loss, Values{logits, shares});
    const double share = 1 / (1 + std::exp(1.0));
    const double right[] = {0, share - 0.5, 1 - share - 0.5};
    for (int i = 0; i < 3; ++i) EXPECT_NEAR(grads[0].data().at(i), right[i], 1e-6) << name;
    for (int i = 1; i < 3; ++i) EXPECT_NEAR(grads[1].data().at(i), std::log1p(std::exp(1.0)) - (i - 1), 1e-6) << name;
    EXPECT_EQ(grads[1].data().at(0), 0) << name;
    // Hard targets: a class of weight 0 is not missed.
    const Value classes = from_data(TensorData::of<std::int64_t>({1}, std::vector<std::int64_t>{0}), device);
    const Value weights = from_data(TensorData::of<double>({3}, std::vector<double>{0, 1, 1}).to(DType::F32), device);
    EXPECT_EQ(cross_entropy(logits, classes, {.weights = weights}, Reduction::Sum).item(), 0) << name;
  }
}

}  // namespace
}  // namespace kiln::test

#include "kiln/ops/elementwise/activation.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "kiln/autodiff/backward.hpp"
#include "tests/ops/harness.hpp"

namespace kiln::test {
namespace {

std::vector<OpCase> activation_rows() {
  std::vector<OpCase> rows;
  const auto add = [&](const char* name, std::function<Value(const Value&)> function, std::function<double(double)> f) {
    for (const Shape& shape : {Shape{4, 5}, Shape{}, Shape{0, 2}})
      rows.push_back({.name = name + std::string(shape.empty()   ? "_of_a_scalar"
                                                 : shape[0] == 0 ? "_of_nothing"
                                                                 : ""),
                      .operands = {{shape, -3, 3}},
                      .function = [function](const Values& in) { return Values{function(in[0])}; },
                      .meaning =
                          [f](const std::vector<Array>& in) {
                            Array result = in[0];
                            for (double& x : result.v) x = f(x);
                            return std::vector<Array>{result};
                          },
                      .tolerance = 3});
  };
  add("hardtanh", [](const Value& x) { return hardtanh(x); }, [](double x) { return std::fmax(-1, std::fmin(x, 1)); });
  add(
      "hardtanh_within", [](const Value& x) { return hardtanh(x, 0.35, 2.2); },
      [](double x) { return x < 0.35  ? 0.35
                            : x > 2.2 ? 2.2
                                      : x; });
  add(
      "hard_sigmoid_of", [](const Value& x) { return hard_sigmoid(x, 0.2, 0.45); },
      [](double x) { return std::fmax(0, std::fmin(0.2 * x + 0.45, 1)); });
  add(
      "softplus_beta", [](const Value& x) { return softplus(x, 3); },
      [](double x) { return std::log1p(std::exp(3 * x)) / 3; });
  add(
      "softplus_threshold", [](const Value& x) { return softplus(x, 2, 1.5); },
      [](double x) { return 2 * x > 1.5 ? x : std::log1p(std::exp(2 * x)) / 2; });
  add("threshold", [](const Value& x) { return threshold(x, 0.55, -7); }, [](double x) { return x > 0.55 ? x : -7; });
  add(
      "shrink", [](const Value& x) { return shrink(x, 0.6, 0.25); },
      [](double x) { return x < -0.6  ? x + 0.25
                            : x > 0.6 ? x - 0.25
                                      : 0; });

  const auto with_weight = [&](const char* name, const Shape& x, const Shape& weight) {
    rows.push_back({.name = name,
                    .operands = {{x}, {weight, 0.1, 0.4}},
                    .function = [](const Values& in) { return Values{prelu(in[0], in[1])}; },
                    .meaning =
                        [](const std::vector<Array>& in) {
                          Array result = in[0];
                          each_index(result.shape, [&](const Dims& i) {
                            const double slope = in[1].v[in[1].v.size() == 1 ? 0 : static_cast<std::size_t>(i[1])];
                            result(i) = std::fmax(in[0](i), 0) + slope * std::fmin(in[0](i), 0);
                          });
                          return std::vector<Array>{result};
                        }});
  };
  with_weight("prelu_one", {3, 4}, {1});
  with_weight("prelu_channels", {2, 3, 2, 2}, {3});
  with_weight("prelu_of_a_scalar", {}, {1});

  rows.push_back({.name = "glu",
                  .operands = {{{3, 6, 2}}},
                  .function = [](const Values& in) { return Values{glu(in[0], 1)}; },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        Array result({3, 3, 2});
                        each_index(result.shape, [&](const Dims& i) {
                          result(i) = in[0](i) / (1 + std::exp(-in[0]({i[0], i[1] + 3, i[2]})));
                        });
                        return std::vector<Array>{result};
                      }});
  const auto normalised = [&](const char* name, Value (*function)(const Value&, Dim), double sign, double beside) {
    for (const int dim : {0, -1})
      rows.push_back({.name = name + std::string(dim == 0 ? "_columns" : "_rows"),
                      .operands = {{{3, 4}}},
                      .function = [function, dim](const Values& in) { return Values{function(in[0], dim)}; },
                      .meaning =
                          [=](const std::vector<Array>& in) {
                            Array total(dim == 0 ? Shape{1, 4} : Shape{3, 1}, beside), result(in[0].shape);
                            const auto group = [&](const Dims& i) { return dim == 0 ? Dims{0, i[1]} : Dims{i[0], 0}; };
                            each_index({3, 4}, [&](const Dims& i) { total(group(i)) += std::exp(sign * in[0](i)); });
                            each_index({3, 4},
                                       [&](const Dims& i) { result(i) = std::exp(sign * in[0](i)) / total(group(i)); });
                            return std::vector<Array>{result};
                          },
                      .tolerance = 2});
  };
  normalised("softmin", softmin, -1, 0);
  normalised("quiet_softmax", quiet_softmax, 1, 1);
  return rows;
}

const Family kActivation(&activation_rows);

Value of(std::vector<double> elements) {
  const auto count = static_cast<std::int64_t>(elements.size());
  return from_data(TensorData::of<double>({count}, elements), Device::cpu());
}

TEST(Activation, NanGoesThrough) {
  const Value nan = of({std::nan("")});
  for (const Value& y :
       {hardtanh(nan), hard_sigmoid(nan, 1, 0), softplus(nan, 2), threshold(nan, 0, 1), shrink(nan),
        prelu(nan, of({0.5})), glu(of({std::nan(""), 1})), softmin(nan, 0), quiet_softmax(nan, 0), relu6(nan),
        selu(nan), tanhshrink(nan), celu(nan, 1), thresholded_relu(nan, 1), hard_shrink(nan, 1), soft_shrink(nan, 1)})
    EXPECT_TRUE(std::isnan(y.data().at(0)));
}

TEST(Activation, DoesNotOverflow) {
  const Value x = of({-1000, 1000});
  const auto elements = [](const Value& y) { return y.data().to_vector<double>(); };
  using Numbers = std::vector<double>;
  EXPECT_EQ(elements(softplus(x, 5)), (Numbers{0, 1000}));
  EXPECT_EQ(elements(softplus(x, 5, INFINITY)), (Numbers{0, 1000}));
  EXPECT_EQ(elements(quiet_softmax(x, 0)), (Numbers{0, 1}));
  EXPECT_EQ(elements(quiet_softmax(of({-1000, -1000}), 0)), (Numbers{0, 0}));
  EXPECT_EQ(elements(celu(x, 2)), (Numbers{-2, 1000}));
  EXPECT_EQ(quiet_softmax(reshape(of({}), {2, 0}), 1).shape(), (Shape{2, 0}));
}

TEST(Activation, TheGradientAtAKinkIsThatOfTheFlatSide) {
  const Device device = Device::cpu().autodiff();
  const auto slope = [&](double at, const std::function<Value(const Value&)>& f) {
    const Value x = full({}, at, device).require_grad();
    return grad(f(x), Values{x})[0].item();
  };
  EXPECT_EQ(slope(0, [](const Value& x) { return relu6(x); }), 0);
  EXPECT_EQ(slope(6, [](const Value& x) { return relu6(x); }), 0);
  EXPECT_EQ(slope(1, [](const Value& x) { return hardtanh(x); }), 0);
  EXPECT_EQ(slope(-0.5, [](const Value& x) { return shrink(x); }), 0);
  EXPECT_EQ(slope(0.5, [](const Value& x) { return soft_shrink(x, 0.5); }), 0);
  EXPECT_EQ(slope(0.5, [](const Value& x) { return hard_shrink(x, 0.5); }), 0);
}

}  // namespace
}  // namespace kiln::test

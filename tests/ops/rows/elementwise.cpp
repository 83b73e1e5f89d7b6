#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "kiln/ops/elementwise/elementwise_ops.hpp"
#include "kiln/ops/elementwise/rows.hpp"
#include "tests/ops/harness.hpp"
#include "tests/support/bessel.hpp"

namespace kiln::test {
namespace {

struct UnaryMeaning {
  double (*f)(double);
  double low = -2, high = 2;
};

double softplus(double x) { return std::log(1 + std::exp(x)); }
double logistic(double x) { return 1 / (1 + std::exp(-x)); }

/// The derivative of order n of log Gamma's slope, as a sum of a thousand terms and an integral for the rest.
double polygamma_sum(int n, double x) {
  double sum = 0;
  constexpr int kTerms = 1000;
  for (int k = 0; k < kTerms; ++k) sum += std::pow(x + k, -n - 1);
  const double a = x + kTerms;
  if (n == 0) return std::log(a) - 1 / (2 * a) - 1 / (12 * a * a) - sum;
  sum += std::pow(a, -n) / n + std::pow(a, -n - 1) / 2 + (n + 1) * std::pow(a, -n - 2) / 12;
  return (n % 2 == 0 ? -1 : 1) * std::tgamma(n + 1) * sum;
}
/// By bisection.
double inverse_erf(double x) {
  double low = -7, high = 7;
  for (int i = 0; i < 100; ++i) (std::erf((low + high) / 2) < x ? low : high) = (low + high) / 2;
  return (low + high) / 2;
}

// What each unary row computes, said a second time with <cmath> and textbook definitions.
const std::map<std::string, UnaryMeaning>& unary_meanings() {
  static const std::map<std::string, UnaryMeaning> meanings = {
      {"neg", {[](double x) { return -x; }}},
      {"abs", {[](double x) { return std::fabs(x); }}},
      {"sign", {[](double x) { return x > 0   ? 1.0
                                      : x < 0 ? -1.0
                                              : 0.0; }}},
      {"square", {[](double x) { return std::pow(x, 2); }}},
      {"cube", {[](double x) { return std::pow(x, 3); }}},
      {"recip", {[](double x) { return std::pow(x, -1); }, 0.5, 3}},
      {"sqrt", {[](double x) { return std::sqrt(x); }, 0.2, 4}},
      {"rsqrt", {[](double x) { return std::pow(x, -0.5); }, 0.2, 4}},
      {"exp", {[](double x) { return std::exp(x); }}},
      {"exp2", {[](double x) { return std::pow(2, x); }}},
      {"expm1", {[](double x) { return std::expm1(x); }}},
      {"log", {[](double x) { return std::log(x); }, 0.2, 5}},
      {"log2", {[](double x) { return std::log2(x); }, 0.2, 5}},
      {"log10", {[](double x) { return std::log10(x); }, 0.2, 5}},
      {"log1p", {[](double x) { return std::log1p(x); }, -0.6, 3}},
      {"sin", {[](double x) { return std::sin(x); }, -4, 4}},
      {"cos", {[](double x) { return std::cos(x); }, -4, 4}},
      {"tan", {[](double x) { return std::sin(x) / std::cos(x); }, -1, 1}},
      {"asin", {[](double x) { return std::asin(x); }, -0.8, 0.8}},
      {"acos", {[](double x) { return std::acos(x); }, -0.8, 0.8}},
      {"atan", {[](double x) { return std::atan(x); }}},
      {"sinh", {[](double x) { return (std::exp(x) - std::exp(-x)) / 2; }}},
      {"cosh", {[](double x) { return (std::exp(x) + std::exp(-x)) / 2; }}},
      {"tanh", {[](double x) { return std::tanh(x); }}},
      {"asinh", {[](double x) { return std::asinh(x); }}},
      {"acosh", {[](double x) { return std::acosh(x); }, 1.3, 4}},
      {"atanh", {[](double x) { return std::atanh(x); }, -0.8, 0.8}},
      {"erf", {[](double x) { return std::erf(x); }}},
      {"erfc", {[](double x) { return std::erfc(x); }}},
      {"erfinv", {inverse_erf, -0.9, 0.9}},
      {"lgamma", {[](double x) { return std::log(std::tgamma(x)); }, 0.3, 5}},
      {"digamma", {[](double x) { return polygamma_sum(0, x); }, 0.6, 12}},
      {"i0", {[](double x) { return std::exp(std::abs(x)) * scaled_bessel_i(0, x); }, -3, 3}},
      {"i1", {[](double x) { return std::exp(std::abs(x)) * scaled_bessel_i(1, x); }, -3, 3}},
      {"sinc", {[](double x) { return x == 0 ? 1 : std::sin(M_PI * x) / (M_PI * x); }}},
      {"logit", {[](double x) { return std::log(x) - std::log(1 - x); }, 0.1, 0.9}},
      {"relu6", {[](double x) { return std::fmin(std::fmax(x, 0), 6); }, -4, 10}},
      {"selu", {[](double x) { return 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * (std::exp(x) - 1)); }}},
      {"tanhshrink", {[](double x) { return x - std::tanh(x); }}},
      {"frac", {[](double x) { return std::fmod(x, 1); }, -3, 3}},
      {"sigmoid", {logistic}},
      {"log_sigmoid", {[](double x) { return std::log(logistic(x)); }}},
      {"softplus", {softplus}},
      {"relu", {[](double x) { return x > 0 ? x : 0.0; }}},
      {"gelu", {[](double x) { return x * std::erfc(-x / std::sqrt(2.0)) / 2; }}},
      {"gelu_slope",
       {[](double x) { return std::erfc(-x / std::sqrt(2.0)) / 2 + x * std::exp(-x * x / 2) / std::sqrt(2 * M_PI); }}},
      {"gelu_tanh",
       {[](double x) { return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * std::pow(x, 3)))); }}},
      {"silu", {[](double x) { return x * logistic(x); }}},
      {"mish", {[](double x) { return x * std::tanh(softplus(x)); }}},
      {"hard_sigmoid", {[](double x) { return x <= -3  ? 0.0
                                              : x >= 3 ? 1.0
                                                       : (x + 3) / 6; }, -5, 5}},
      {"hard_swish", {[](double x) { return x <= -3  ? 0.0
                                            : x >= 3 ? x
                                                     : x * (x + 3) / 6; }, -5, 5}},
      {"hard_swish_slope", {[](double x) { return x <= -3  ? 0.0
                                                  : x >= 3 ? 1.0
                                                           : (2 * x + 3) / 6; }, -5, 5}},
      {"softsign", {[](double x) { return x / (1 + std::fabs(x)); }}},
      {"floor", {[](double x) { return std::floor(x); }, -3, 3}},
      {"ceil", {[](double x) { return std::ceil(x); }, -3, 3}},
      {"round", {[](double x) { return std::nearbyint(x); }, -3, 3}},
      {"trunc", {[](double x) { return x < 0 ? std::ceil(x) : std::floor(x); }, -3, 3}},
      {"is_nan", {[](double x) { return std::isnan(x) ? 1.0 : 0.0; }}},
      {"is_inf", {[](double x) { return std::isinf(x) ? 1.0 : 0.0; }}},
      {"is_finite", {[](double x) { return std::isfinite(x) ? 1.0 : 0.0; }}},
      {"signbit", {[](double x) { return x < 0 ? 1.0 : 0.0; }}},
      {"logical_not", {[](double x) { return x == 0 ? 1.0 : 0.0; }}},
  };
  return meanings;
}

struct BinaryMeaning {
  double (*f)(double, double);
  double x_low = -2, x_high = 2, y_low = -2, y_high = 2;
};

const std::map<std::string, BinaryMeaning>& binary_meanings() {
  static const std::map<std::string, BinaryMeaning> meanings = {
      {"add", {[](double x, double y) { return x + y; }}},
      {"sub", {[](double x, double y) { return x - y; }}},
      {"mul", {[](double x, double y) { return x * y; }}},
      {"div", {[](double x, double y) { return x / y; }, -2, 2, 0.5, 3}},
      {"floor_divide", {[](double x, double y) { return std::floor(x / y); }, -4, 4, 0.5, 3}},
      {"remainder", {[](double x, double y) { return x - y * std::floor(x / y); }, -4, 4, 0.5, 3}},
      {"fmod", {[](double x, double y) { return x - y * std::trunc(x / y); }, -4, 4, 0.5, 3}},
      {"pow", {[](double x, double y) { return std::exp(y * std::log(x)); }, 0.3, 2, -2, 2}},
      {"maximum", {[](double x, double y) { return x > y ? x : y; }}},
      {"minimum", {[](double x, double y) { return x < y ? x : y; }}},
      {"atan2", {[](double x, double y) { return std::atan2(x, y); }, -2, 2, 0.5, 3}},
      {"hypot", {[](double x, double y) { return std::sqrt(x * x + y * y); }, 0.5, 2, -2, 2}},
      {"logaddexp", {[](double x, double y) { return std::log(std::exp(x) + std::exp(y)); }}},
      {"leaky_relu", {[](double x, double y) { return x > 0 ? x : x * y; }, -2, 2, 0.1, 0.3}},
      {"elu", {[](double x, double y) { return x > 0 ? x : y * (std::exp(x) - 1); }, -2, 2, 0.5, 2}},
      {"celu",
       {[](double x, double y) { return std::fmax(x, 0) + std::fmin(0, y * (std::exp(x / y) - 1)); }, -2, 2, 0.5, 2}},
      {"thresholded_relu", {[](double x, double y) { return x > y ? x : 0; }, -2, 2, 0.501, 0.502}},
      {"hard_shrink", {[](double x, double y) { return std::fabs(x) > y ? x : 0; }, -2, 2, 0.501, 0.502}},
      {"soft_shrink", {[](double x, double y) { return x > y    ? x - y
                                                       : x < -y ? x + y
                                                                : 0; }, -2, 2, 0.501, 0.502}},
      {"smooth_l1",
       {[](double x, double y) { return std::fabs(x) < y ? x * x / (2 * y) : std::fabs(x) - y / 2; }, -2, 2, 0.5, 2}},
      {"logistic_loss",
       {[](double x, double y) { return y * std::log1p(std::exp(-x)) + (1 - y) * std::log1p(std::exp(x)); }, -3, 3, 0,
        1}},
      {"copysign", {[](double x, double y) { return std::copysign(x, y); }}},
      {"heaviside", {[](double x, double y) { return x < 0    ? 0
                                                     : x == 0 ? y
                                                              : 1; }}},
      {"xlogy", {[](double x, double y) { return x * std::log(y); }, -2, 2, 0.3, 3}},
      {"eq", {[](double x, double y) { return x == y ? 1.0 : 0.0; }}},
      {"ne", {[](double x, double y) { return x != y ? 1.0 : 0.0; }}},
      {"lt", {[](double x, double y) { return x < y ? 1.0 : 0.0; }}},
      {"le", {[](double x, double y) { return x <= y ? 1.0 : 0.0; }}},
      {"gt", {[](double x, double y) { return x > y ? 1.0 : 0.0; }}},
      {"ge", {[](double x, double y) { return x >= y ? 1.0 : 0.0; }}},
      {"logical_and", {[](double x, double y) { return x != 0 && y != 0 ? 1.0 : 0.0; }}},
      {"logical_or", {[](double x, double y) { return x != 0 || y != 0 ? 1.0 : 0.0; }}},
      {"logical_xor", {[](double x, double y) { return (x != 0) != (y != 0) ? 1.0 : 0.0; }}},
  };
  return meanings;
}

Array zip(const Array& x, const Array& y, const std::function<double(double, double)>& f) {
  Array result(broadcast("test", x.shape, y.shape));
  each_index(result.shape,
             [&](const Dims& index) { result(index) = f(broadcast_at(x, index), broadcast_at(y, index)); });
  return result;
}

// Halves round their operands' steps away: near a jump the meaning of the rounded operand is another one, but it is
// the rounded operand that both sides see, so only functions steep beyond measure are excluded.
bool steep(const std::string& name) { return name == "remainder" || name == "fmod" || name == "floor_divide"; }

using UnaryFunction = Value (*)(const Value&);
using BinaryFunction = Value (*)(const Value&, const Value&);

void add_unary(std::vector<OpCase>& rows, const std::string& name, UnaryFunction function, bool gradient) {
  const auto meaning = unary_meanings().find(name);
  if (meaning == unary_meanings().end()) return;  // the integer functions, below; OpTable names what is missing
  const auto [f, low, high] = meaning->second;
  for (const auto& [suffix, shape] : {std::pair<const char*, Shape>{"", {3, 5}},
                                      {"_of_a_scalar", {}},
                                      {"_of_nothing", {0, 3}},
                                      {"_of_many", {7, 37}}})
    rows.push_back({.name = name + suffix,
                    .operands = {{shape, low, high}},
                    .function = [function](const Values& in) { return Values{function(in[0])}; },
                    .meaning =
                        [f](const std::vector<Array>& in) {
                          Array result = in[0];
                          for (double& x : result.v) x = f(x);
                          return std::vector<Array>{result};
                        },
                    .tolerance = 2,
                    .gradient = gradient && std::string_view(suffix) != "_of_many"});
}

void add_binary(std::vector<OpCase>& rows, const std::string& name, BinaryFunction function, bool gradient) {
  const auto found = binary_meanings().find(name);
  if (found == binary_meanings().end()) return;
  const BinaryMeaning meaning = found->second;
  const std::tuple<const char*, Shape, Shape> cases[] = {{"", {3, 4}, {3, 4}},           {"_row", {3, 4}, {4}},
                                                         {"_column", {3, 1}, {2, 1, 4}}, {"_scalar", {2, 3}, {}},
                                                         {"_nothing", {0, 2}, {1, 2}},   {"_many", {5, 67}, {5, 1}}};
  for (const auto& [suffix, x, y] : cases)
    rows.push_back(
        {.name = name + suffix,
         .operands = {{x, meaning.x_low, meaning.x_high}, {y, meaning.y_low, meaning.y_high}},
         .function = [function](const Values& in) { return Values{function(in[0], in[1])}; },
         .meaning = [f = meaning.f](const std::vector<Array>& in) { return std::vector<Array>{zip(in[0], in[1], f)}; },
         .tolerance = 4,
         .gradient = gradient && std::string_view(suffix) != "_many",
         .halves = !steep(name)});
}

std::vector<OpCase> integer_rows() {
  std::vector<OpCase> rows;
  const auto add = [&](const char* name, BinaryFunction function, std::int64_t (*f)(std::int64_t, std::int64_t),
                       double low) {
    rows.push_back({.name = std::string("int_") + name,
                    .operands = {{{4, 5}, -100, 100, OperandSpec::Index}, {{5}, low, 8, OperandSpec::Index}},
                    .function = [function](const Values& in) { return Values{function(in[0], in[1])}; },
                    .meaning =
                        [f](const std::vector<Array>& in) {
                          return std::vector<Array>{zip(in[0], in[1], [f](double x, double y) {
                            return static_cast<double>(f(static_cast<std::int64_t>(x), static_cast<std::int64_t>(y)));
                          })};
                        },
                    .gradient = false,
                    .halves = false});
  };
  using I = std::int64_t;
  add("add", kiln::add, [](I x, I y) { return x + y; }, -8);
  add("mul", mul, [](I x, I y) { return x * y; }, -8);
  add("floor_divide", floor_divide, [](I x, I y) { return static_cast<I>(std::floor(double(x) / double(y))); }, 1);
  add("remainder", remainder, [](I x, I y) { return ((x % y) + y) % y; }, 1);
  add("fmod", kiln::fmod, [](I x, I y) { return x % y; }, 1);
  add(
      "pow", kiln::pow,
      [](I x, I y) {
        I power = 1;
        while (y-- > 0) power *= x;
        return power;
      },
      0);
  add("bitwise_and", bitwise_and, [](I x, I y) { return x & y; }, -8);
  add("bitwise_or", bitwise_or, [](I x, I y) { return x | y; }, -8);
  add("bitwise_xor", bitwise_xor, [](I x, I y) { return x ^ y; }, -8);
  add("shift_left", shift_left, [](I x, I y) { return x * (I{1} << y); }, 0);
  add(
      "shift_right", shift_right, [](I x, I y) { return static_cast<I>(std::floor(double(x) / double(I{1} << y))); },
      0);
  rows.push_back({.name = "int_bitwise_not",
                  .operands = {{{7}, -9, 9, OperandSpec::Index}},
                  .function = [](const Values& in) { return Values{bitwise_not(in[0])}; },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        Array result = in[0];
                        for (double& x : result.v) x = -x - 1;
                        return std::vector<Array>{result};
                      },
                  .gradient = false,
                  .halves = false});
  return rows;
}

std::vector<OpCase> elementwise_rows() {
  std::vector<OpCase> rows = integer_rows();
#define KILN_UNARY(Name, function, ...) add_unary(rows, #function, static_cast<UnaryFunction>(kiln::function), true);
#define KILN_PREDICATE(Name, function, ...) \
  add_unary(rows, #function, static_cast<UnaryFunction>(kiln::function), false);
#define KILN_BINARY(Name, function, ...) add_binary(rows, #function, static_cast<BinaryFunction>(kiln::function), true);
#define KILN_COMPARISON(Name, function, ...) \
  add_binary(rows, #function, static_cast<BinaryFunction>(kiln::function), false);
#include "kiln/ops/elementwise/elementwise.def"
  rows.push_back({.name = "polygamma",
                  .operands = {{{4, 1}, 0, 5, OperandSpec::Index}, {{6}, 0.7, 8}},
                  .function = [](const Values& in) { return Values{polygamma(in[0], in[1])}; },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        return std::vector<Array>{zip(
                            in[0], in[1], [](double n, double x) { return polygamma_sum(static_cast<int>(n), x); })};
                      },
                  .tolerance = 4});
  rows.push_back({.name = "where",
                  .operands = {{{3, 4}, 0, 1, OperandSpec::Flag}, {{3, 4}}, {{4}}},
                  .function = [](const Values& in) { return Values{where(in[0], in[1], in[2])}; },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        Array result(in[1].shape);
                        each_index(result.shape,
                                   [&](const Dims& i) { result(i) = in[0](i) != 0 ? in[1](i) : in[2]({i[1]}); });
                        return std::vector<Array>{result};
                      }});
  rows.push_back({.name = "clamp",
                  .operands = {{{20}, -3, 3}},
                  .function = [](const Values& in) { return Values{clamp(in[0], -1.0, 2.0)}; },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        Array result = in[0];
                        for (double& x : result.v) x = x < -1 ? -1 : x > 2 ? 2 : x;
                        return std::vector<Array>{result};
                      }});
  rows.push_back({.name = "cast_to_float64",
                  .operands = {{{3, 4}}},
                  .function = [](const Values& in) { return Values{cast(in[0], DType::F64)}; },
                  .meaning = [](const std::vector<Array>& in) { return in; },
                  .tolerance = 1});
  rows.push_back({.name = "cast_to_int",
                  .operands = {{{12}, -5, 5}},
                  .function = [](const Values& in) { return Values{cast(in[0], DType::I32)}; },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        Array result = in[0];
                        for (double& x : result.v) x = x < 0 ? -std::floor(-x) : std::floor(x);
                        return std::vector<Array>{result};
                      },
                  .gradient = false});
  return rows;
}

const Family kElementwise(&elementwise_rows);

}  // namespace
}  // namespace kiln::test

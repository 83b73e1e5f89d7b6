// The functions of special.def: each meaning is a definition of another kind than the kernel's method: integrals by equal
// steps, sums of many terms, closed forms.
#include <cmath>
#include <numeric>

#include "kiln/ops/special/special.hpp"
#include "tests/ops/harness.hpp"
#include "tests/support/bessel.hpp"

namespace kiln::test {
namespace {

using One = Value (*)(const Value&);
using Two = Value (*)(const Value&, const Value&);
using Meaning = std::function<double(double)>;

OpCase of_one(std::string name, One function, double low, double high, Meaning f, double tolerance = 2) {
  return {.name = std::move(name),
          .operands = {{{3, 5}, low, high}},
          .function = [function](const Values& in) { return Values{function(in[0])}; },
          .meaning =
              [f](const std::vector<Array>& in) {
                Array result = in[0];
                for (double& x : result.v) x = f(x);
                return std::vector<Array>{result};
              },
          .tolerance = tolerance};
}

/// The sum of f at the middles of many equal steps from `low` to `high`, times the step, of a function that is smooth.
double integral(double low, double high, const Meaning& f) {
  // Gauss's rule of five points on each of many parts.
  constexpr double kPoints[] = {0, 0.5384693101056831, 0.9061798459386640};
  constexpr double kWeights[] = {0.5688888888888889, 0.4786286704993665, 0.2369268850561891};
  constexpr int kParts = 40;
  const double half = (high - low) / kParts / 2;
  double sum = 0;
  for (int i = 0; i < kParts; ++i) {
    const double middle = low + (2 * i + 1) * half;
    sum += kWeights[0] * f(middle);
    for (int k = 1; k < 3; ++k) sum += kWeights[k] * (f(middle + kPoints[k] * half) + f(middle - kPoints[k] * half));
  }
  return sum * half;
}

/// exp(x) K_order(x), of orders 0 and 1 for x >= 0.3, with t = 1 + u^2 in DLMF 10.32.8.
double scaled_bessel_k(int order, double x) {
  return 2 * integral(0, std::sqrt(40 / x), [=](double u) {
           const double square = u * u, root = std::sqrt(square + 2);
           return std::exp(-x * square) * (order == 0 ? 1 / root : x * square * root);
         });
}

double normal_share(double x) {
  return 0.5 + integral(0, x, [](double t) { return std::exp(-t * t / 2); }) / std::sqrt(2 * M_PI);
}
double normal_quantile(double share) {
  double low = -10, high = 10;
  for (int i = 0; i < 100; ++i) (normal_share((low + high) / 2) < share ? low : high) = (low + high) / 2;
  return (low + high) / 2;
}
/// Of t^(a - 1) exp(-t) from 0 to x, with t = s^4, so that nothing is infinite at 0.
double lower_gamma(double a, double x) {
  return 4 *
         integral(0, std::pow(x, 0.25), [a](double s) { return std::pow(s, 4 * a - 1) * std::exp(-std::pow(s, 4)); }) /
         std::tgamma(a);
}
/// Of t^(a - 1) (1 - t)^(b - 1) from 0 to x, with t = sin(s)^2 and s = r^2, so that nothing is infinite at 0.
double lower_beta(double a, double b, double x) {
  const double end = std::sqrt(std::asin(std::sqrt(x)));
  return 4 *
         integral(0, end,
                  [=](double r) {
                    return r * std::pow(std::sin(r * r), 2 * a - 1) * std::pow(std::cos(r * r), 2 * b - 1);
                  }) *
         std::tgamma(a + b) / (std::tgamma(a) * std::tgamma(b));
}
/// A thousand terms, and Euler's and Maclaurin's formula for the rest.
double zeta_sum(double s, double q) {
  double sum = 0;
  for (int k = 0; k < 1000; ++k) sum += std::pow(q + k, -s);
  const double a = q + 1000;
  return sum + std::pow(a, 1 - s) / (s - 1) + std::pow(a, -s) / 2 + s * std::pow(a, -s - 1) / 12;
}

struct Polynomial {
  const char* name;
  Two function;
  double low, high;
  double (*f)(int n, double x);
};
double gegenbauer_sum(int n, double lambda, double x) {
  double sum = 0;
  for (int k = 0; 2 * k <= n; ++k)
    sum += (k % 2 ? -1 : 1) * std::tgamma(n - k + lambda) / std::tgamma(lambda) / std::tgamma(k + 1) /
           std::tgamma(n - 2 * k + 1) * std::pow(2 * x, n - 2 * k);
  return sum;
}
double laguerre_sum(int n, double alpha, double x) {
  double sum = 0;
  for (int k = 0; k <= n; ++k)
    sum += std::tgamma(n + alpha + 1) / std::tgamma(n - k + 1) / std::tgamma(alpha + k + 1) * std::pow(-x, k) /
           std::tgamma(k + 1);
  return sum;
}
const Polynomial kPolynomials[] = {
    {"chebyshev_t", chebyshev_t, -0.9, 0.9, [](int n, double x) { return std::cos(n * std::acos(x)); }},
    {"chebyshev_u", chebyshev_u, -0.9, 0.9,
     [](int n, double x) { return std::sin((n + 1) * std::acos(x)) / std::sin(std::acos(x)); }},
    {"chebyshev_v", chebyshev_v, -0.9, 0.9,
     [](int n, double x) { return std::cos((n + 0.5) * std::acos(x)) / std::cos(std::acos(x) / 2); }},
    {"chebyshev_w", chebyshev_w, -0.9, 0.9,
     [](int n, double x) { return std::sin((n + 0.5) * std::acos(x)) / std::sin(std::acos(x) / 2); }},
    {"shifted_chebyshev_t", shifted_chebyshev_t, 0.05, 0.95,
     [](int n, double x) { return std::cos(n * std::acos(2 * x - 1)); }},
    {"shifted_chebyshev_u", shifted_chebyshev_u, 0.05, 0.95,
     [](int n, double x) { return std::sin((n + 1) * std::acos(2 * x - 1)) / std::sin(std::acos(2 * x - 1)); }},
    {"shifted_chebyshev_v", shifted_chebyshev_v, 0.05, 0.95,
     [](int n, double x) { return std::cos((n + 0.5) * std::acos(2 * x - 1)) / std::cos(std::acos(2 * x - 1) / 2); }},
    {"shifted_chebyshev_w", shifted_chebyshev_w, 0.05, 0.95,
     [](int n, double x) { return std::sin((n + 0.5) * std::acos(2 * x - 1)) / std::sin(std::acos(2 * x - 1) / 2); }},
    {"hermite_h", hermite_h, -1.5, 1.5,
     [](int n, double x) {
       double sum = 0;
       for (int k = 0; 2 * k <= n; ++k)
         sum += (k % 2 ? -1 : 1) * std::tgamma(n + 1) / std::tgamma(k + 1) / std::tgamma(n - 2 * k + 1) *
                std::pow(2 * x, n - 2 * k);
       return sum;
     }},
    {"hermite_he", hermite_he, -1.5, 1.5,
     [](int n, double x) {
       double sum = 0;
       for (int k = 0; 2 * k <= n; ++k)
         sum += (k % 2 ? -1 : 1) * std::tgamma(n + 1) / std::tgamma(k + 1) / std::tgamma(n - 2 * k + 1) *
                std::pow(x, n - 2 * k) / std::pow(2, k);
       return sum;
     }},
    {"legendre_p", legendre_p, -0.9, 0.9, [](int n, double x) { return gegenbauer_sum(n, 0.5, x); }},
    {"laguerre_l", laguerre_l, -2, 4, [](int n, double x) { return laguerre_sum(n, 0, x); }},
};

Array zip(const Array& x, const Array& y, const std::function<double(double, double)>& f) {
  Array result(broadcast("test", x.shape, y.shape));
  each_index(result.shape, [&](const Dims& i) { result(i) = f(broadcast_at(x, i), broadcast_at(y, i)); });
  return result;
}

OpCase of_two(std::string name, OperandSpec x, OperandSpec y, Two function, std::function<double(double, double)> f,
              double tolerance = 4) {
  return {.name = std::move(name),
          .operands = {x, y},
          .function = [function](const Values& in) { return Values{function(in[0], in[1])}; },
          .meaning = [f](const std::vector<Array>& in) { return std::vector<Array>{zip(in[0], in[1], f)}; },
          .tolerance = tolerance,
          .halves = tolerance < 100};
}

std::vector<OpCase> special_rows() {
  std::vector<OpCase> rows;
  rows.push_back(of_one("erfcx", erfcx, -1.5, 3, [](double x) { return std::exp(x * x) * std::erfc(x); }, 8));
  rows.push_back(of_one("ndtr", ndtr, -3, 3, normal_share));
  rows.push_back(of_one("log_ndtr", log_ndtr, -3, 3, [](double x) { return std::log(normal_share(x)); }, 4));
  rows.push_back(of_one("ndtri", ndtri, 0.03, 0.97, normal_quantile, 8));
  rows.push_back(of_one("bessel_j0", bessel_j0, 0.3, 9, [](double x) { return bessel_j(0, x); }));
  rows.push_back(of_one("bessel_j1", bessel_j1, 0.3, 9, [](double x) { return bessel_j(1, x); }));
  rows.push_back(of_one("bessel_j0_far", bessel_j0, 22, 30, [](double x) { return bessel_j(0, x); }));
  rows.push_back(of_one("bessel_j1_far", bessel_j1, 22, 30, [](double x) { return bessel_j(1, x); }));
  rows.push_back(of_one("bessel_j1_below_0", bessel_j1, -9, -0.3, [](double x) { return bessel_j(1, x); }));
  rows.push_back(of_one("bessel_y0", bessel_y0, 0.5, 9, [](double x) { return bessel_y(0, x); }));
  rows.push_back(of_one("bessel_y1", bessel_y1, 0.5, 9, [](double x) { return bessel_y(1, x); }, 4));
  rows.push_back(of_one("i0e", i0e, 0.3, 9, [](double x) { return scaled_bessel_i(0, x); }));
  rows.push_back(of_one("i1e", i1e, -9, -0.3, [](double x) { return scaled_bessel_i(1, x); }));
  rows.push_back(of_one("modified_bessel_k0", modified_bessel_k0, 0.5, 6,
                        [](double x) { return std::exp(-x) * scaled_bessel_k(0, x); }));
  rows.push_back(of_one(
      "modified_bessel_k1", modified_bessel_k1, 0.6, 6, [](double x) { return std::exp(-x) * scaled_bessel_k(1, x); },
      4));
  rows.push_back(of_one("scaled_modified_bessel_k0", scaled_modified_bessel_k0, 0.5, 30,
                        [](double x) { return scaled_bessel_k(0, x); }));
  rows.push_back(of_one(
      "scaled_modified_bessel_k1", scaled_modified_bessel_k1, 0.6, 30, [](double x) { return scaled_bessel_k(1, x); },
      4));
  rows.push_back(of_one("spherical_bessel_j0", spherical_bessel_j0, -9, 9, [](double x) { return std::sin(x) / x; }));
  rows.push_back(of_one("entr", entr, 0.1, 3, [](double x) { return -x * std::log(x); }));
  rows.push_back(of_one(
      "mvlgamma", [](const Value& x) { return mvlgamma(x, 3); }, 1.2, 6,
      [](double x) {
        return 1.5 * std::log(M_PI) + std::log(std::tgamma(x)) + std::log(std::tgamma(x - 0.5)) +
               std::log(std::tgamma(x - 1));
      }));
  rows.push_back(of_one(
      "frexp", [](const Value& x) { return kiln::frexp(x).mantissa; }, 0.26, 0.49, [](double x) { return x * 2; }));
  rows.push_back({.name = "frexp_exponent",
                  .operands = {{{9}, 0.01, 90}},
                  .function = [](const Values& in) { return Values{kiln::frexp(in[0]).exponent}; },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        Array result = in[0];
                        for (double& x : result.v) x = std::floor(std::log2(x)) + 1;
                        return std::vector<Array>{result};
                      },
                  .gradient = false});

  for (const Polynomial& polynomial : kPolynomials)
    rows.push_back(of_two(
        polynomial.name, {{4, 1}, polynomial.low, polynomial.high}, {{7}, 0, 7, OperandSpec::Index},
        polynomial.function, [f = polynomial.f](double x, double n) { return f(static_cast<int>(n), x); }, 150));
  const auto of_three = [](std::string name, Value (*function)(const Value&, const Value&, const Value&),
                           double (*f)(int, double, double)) {
    return OpCase{.name = std::move(name),
                  .operands = {{{4, 1}, -0.9, 0.9}, {{6}, 0, 6, OperandSpec::Index}},
                  .function = [function](const Values& in) { return Values{function(in[0], in[1], 1.5)}; },
                  .meaning =
                      [f](const std::vector<Array>& in) {
                        return std::vector<Array>{
                            zip(in[0], in[1], [f](double x, double n) { return f(static_cast<int>(n), 1.5, x); })};
                      },
                  .tolerance = 150,
                  .halves = false};
  };
  rows.push_back(of_three("gegenbauer_c", gegenbauer_c, gegenbauer_sum));
  rows.push_back(of_three("generalized_laguerre_l", generalized_laguerre_l, laguerre_sum));

  const auto with_a = [&](const char* name, Two function, double a, bool upper) {
    rows.push_back({.name = text(name, "_of_", static_cast<int>(a * 10)),
                    .operands = {{{8}, 0.3, 7}},
                    .function = [=](const Values& in) { return Values{function(a, in[0])}; },
                    .meaning =
                        [=](const std::vector<Array>& in) {
                          Array result = in[0];
                          for (double& x : result.v) x = upper ? 1 - lower_gamma(a, x) : lower_gamma(a, x);
                          return std::vector<Array>{result};
                        },
                    .tolerance = 4});
  };
  for (const double a : {0.5, 2.5, 6.0}) {
    with_a("igamma", igamma, a, false);
    with_a("igammac", igammac, a, true);
  }
  for (const auto& [a, b] : {std::pair{0.5, 0.5}, {2.5, 1.0}, {1.0, 6.5}, {12.0, 15.5}})
    rows.push_back({.name = text("betainc_of_", a * 10, '_', b * 10),
                    .operands = {{{8}, 0.05, 0.95}},
                    .function = [a = a, b = b](const Values& in) { return Values{betainc(a, b, in[0])}; },
                    .meaning =
                        [a = a, b = b](const std::vector<Array>& in) {
                          Array result = in[0];
                          for (double& x : result.v) x = lower_beta(a, b, x);
                          return std::vector<Array>{result};
                        },
                    .tolerance = 8});
  for (const double s : {1.5, 4.0})
    rows.push_back({.name = text("zeta_of_", static_cast<int>(s * 10)),
                    .operands = {{{8}, 0.7, 7}},
                    .function = [=](const Values& in) { return Values{zeta(s, in[0])}; },
                    .meaning =
                        [=](const std::vector<Array>& in) {
                          Array result = in[0];
                          for (double& q : result.v) q = zeta_sum(s, q);
                          return std::vector<Array>{result};
                        },
                    .tolerance = 8});
  rows.push_back(
      of_two("xlog1py", {{3, 4}}, {{4}, -0.7, 3}, xlog1py, [](double x, double y) { return x * std::log(1 + y); }));
  rows.push_back(of_two("logaddexp2", {{3, 4}}, {{3, 1}}, logaddexp2,
                        [](double x, double y) { return std::log2(std::exp2(x) + std::exp2(y)); }));
  rows.push_back(of_two("ldexp", {{3, 4}}, {{4}, -5, 5, OperandSpec::Index}, kiln::ldexp,
                        [](double x, double n) { return x * std::pow(2, n); }));
  rows.push_back(
      of_two("nextafter", {{3, 4}, 1.1, 1.9}, {{4}, -3, 3}, kiln::nextafter, [](double x, double) { return x; }));
  for (const bool least : {false, true}) {
    OpCase row = of_two(least ? "lcm" : "gcd", {{4, 5}, -100, 100, OperandSpec::Index},
                        {{5}, -9, 30, OperandSpec::Index}, least ? kiln::lcm : kiln::gcd, [least](double x, double y) {
                          double a = std::fabs(x), b = std::fabs(y);
                          const double product = a * b;
                          while (b > 0) {  // by subtraction
                            if (a < b) std::swap(a, b);
                            a -= b;
                            if (a == 0) std::swap(a, b);
                          }
                          return !least ? a : a == 0 ? 0 : product / a;
                        });
    row.gradient = row.halves = false;
    rows.push_back(std::move(row));
  }
  return rows;
}

const Family kSpecial(&special_rows);

}  // namespace
}  // namespace kiln::test

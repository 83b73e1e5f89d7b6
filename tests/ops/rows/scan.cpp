#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "kiln/autodiff/backward.hpp"
#include "kiln/ops/reduce/scan.hpp"
#include "tests/ops/harness.hpp"

namespace kiln::test {
namespace {

/// Rewrites each line of x along `dim`, in place.
Array along(const Array& x, int dim, const std::function<void(std::vector<double>&)>& f) {
  Array result = x;
  each_index(x.shape, [&](const Dims& index) {
    if (index[dim] != 0) return;
    std::vector<double> line;
    Dims at = index;
    for (at[dim] = 0; at[dim] < x.shape[dim]; ++at[dim]) line.push_back(x(at));
    f(line);
    for (at[dim] = 0; at[dim] < x.shape[dim]; ++at[dim]) result(at) = line[static_cast<std::size_t>(at[dim])];
  });
  return result;
}

/// The fold of line[0..i] for each i.
using Fold = double (*)(double so_far, double next);
std::function<void(std::vector<double>&)> running(Fold fold, double start, const ScanOptions& options = {}) {
  return [=](std::vector<double>& line) {
    if (options.reverse) std::reverse(line.begin(), line.end());
    double so_far = start;
    for (double& x : line) {
      const double next = fold(so_far, x);
      x = options.exclusive ? so_far : next;
      so_far = next;
    }
    if (options.reverse) std::reverse(line.begin(), line.end());
  };
}
double add(double a, double b) { return a + b; }
double times(double a, double b) { return a * b; }
double log_add(double a, double b) { return std::log(std::exp(a) + std::exp(b)); }

/// The places of the first largest of line[0..i].
void places_of_largest(std::vector<double>& line) {
  std::size_t best = 0;
  const std::vector<double> x = line;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] > x[best]) best = i;
    line[i] = static_cast<double>(best);
  }
}
void negate(Array& x) {
  for (double& value : x.v) value = -value;
}

OpCase row(std::string name, const Shape& shape, std::function<Value(const Value&)> function,
           std::function<Array(const Array&)> meaning, double tolerance) {
  const bool small = numel(shape) < 200;
  return {.name = std::move(name),
          .operands = {{shape}},
          .function = [=](const Values& in) { return Values{function(in[0])}; },
          .meaning = [=](const std::vector<Array>& in) { return std::vector<Array>{meaning(in[0])}; },
          .tolerance = tolerance,
          .gradient = small,
          .halves = small};
}

std::vector<OpCase> scan_rows() {
  std::vector<OpCase> rows;
  struct Case {
    const char* suffix;
    Shape shape;
    int dim;
  };
  const Case cases[] = {{"_last", {3, 5}, 1},         {"_first", {4, 3}, 0},
                        {"_middle", {2, 3, 4}, 1},    {"_line", {9}, 0},
                        {"_of_one", {2, 1, 3}, 1},    {"_of_nothing", {2, 0}, 1},
                        {"_many_lines", {37, 11}, 1}, {"_many_columns", {11, 300}, 0}};
  // Long enough to be cut into pieces, ragged ones among them.
  const Case long_cases[] = {
      {"_long_line", {40000}, 0}, {"_long_lines", {3, 9001}, 1}, {"_long_columns", {9001, 5}, 0}};
  for (const Case& c : cases) {
    const int dim = c.dim;
    for (const bool exclusive : {false, true})
      for (const bool reverse : {false, true}) {
        const ScanOptions options{.exclusive = exclusive, .reverse = reverse};
        const std::string suffix = text(c.suffix, exclusive ? "_exclusive" : "", reverse ? "_reverse" : "");
        rows.push_back(row(
            "cumsum" + suffix, c.shape, [=](const Value& x) { return cumsum(x, dim, options); },
            [=](const Array& x) { return along(x, dim, running(add, 0, options)); }, 4));
        rows.push_back(row(
            "cumprod" + suffix, c.shape, [=](const Value& x) { return cumprod(x, dim, options); },
            [=](const Array& x) { return along(x, dim, running(times, 1, options)); }, 8));
      }
    rows.push_back(row(
        text("logcumsumexp", c.suffix), c.shape, [=](const Value& x) { return logcumsumexp(x, dim); },
        [=](const Array& x) { return along(x, dim, running(log_add, -INFINITY)); }, 4));
  }
  for (const Case& c : long_cases) {
    const int dim = c.dim;
    for (const bool reverse : {false, true}) {
      const std::string suffix = text(c.suffix, reverse ? "_reverse" : "");
      const ScanOptions options{.reverse = reverse};
      rows.push_back(row(
          "cumsum" + suffix, c.shape, [=](const Value& x) { return cumsum(x, dim, options); },
          [=](const Array& x) { return along(x, dim, running(add, 0, options)); }, 10));
      rows.push_back(row(
          "cumprod" + suffix, c.shape, [=](const Value& x) { return cumprod(exp(x * 0.01), dim, options); },
          [=](const Array& x) {
            Array powers = x;
            for (double& value : powers.v) value = std::exp(value * 0.01);
            return along(powers, dim, running(times, 1, options));
          },
          100));
    }
    rows.push_back(row(
        text("logcumsumexp", c.suffix), c.shape, [=](const Value& x) { return logcumsumexp(x, dim); },
        [=](const Array& x) { return along(x, dim, running(log_add, -INFINITY)); }, 4));
  }
  for (const auto& list : {std::span<const Case>(cases), std::span<const Case>(long_cases)})
    for (const Case& c : list) {
      const bool small = numel(c.shape) < 200;
      const int dim = c.dim;
      const auto extremes = [&](const char* name, ValueWithIndices (*function)(const Value&, Dim), bool largest) {
        rows.push_back({.name = text(name, c.suffix),
                        .operands = {{c.shape}},
                        .function =
                            [=](const Values& in) {
                              const auto [values, indices] = function(in[0], dim);
                              return Values{values, indices};
                            },
                        .meaning =
                            [=](const std::vector<Array>& in) {
                              Array x = in[0];
                              if (!largest) negate(x);
                              Array values =
                                  along(x, dim, running([](double a, double b) { return std::max(a, b); }, -INFINITY));
                              if (!largest) negate(values);
                              return std::vector<Array>{values, along(x, dim, places_of_largest)};
                            },
                        .gradient = small,
                        .halves = small});
      };
      extremes("cummax", cummax, true);
      extremes("cummin", cummin, false);
    }
  for (const bool reverse : {false, true})
    for (const Case& c : cases) {
      const int dim = c.dim;
      rows.push_back(
          {.name = text("linear_recurrence", c.suffix, reverse ? "_reverse" : ""),
           .operands = {{c.shape}, {c.shape}},
           .function = [=](const Values& in) { return Values{linear_recurrence(in[0], in[1], dim, reverse)}; },
           .meaning =
               [=](const std::vector<Array>& in) {
                 Array y(in[0].shape);
                 each_index(y.shape, [&](const Dims& counted) {
                   // Indices count up, so that what precedes has been computed when it is read.
                   Dims at = counted, before = counted;
                   if (reverse) at[dim] = y.shape[dim] - 1 - counted[dim];
                   before[dim] = reverse ? at[dim] + 1 : at[dim] - 1;
                   y(at) = in[1](at) + (counted[dim] > 0 ? in[0](at) * y(before) : 0);
                 });
                 return std::vector<Array>{y};
               },
           .tolerance = 8,
           .gradient = numel(c.shape) < 200,
           .halves = numel(c.shape) < 200});
    }
  rows.push_back({.name = "linear_recurrence_of_a_number",
                  .operands = {{{2, 5}}},
                  .function = [](const Values& in) { return Values{linear_recurrence(0.5, in[0], 1)}; },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        return std::vector<Array>{
                            along(in[0], 1, running([](double a, double b) { return 0.5 * a + b; }, 0))};
                      },
                  .tolerance = 2});
  return rows;
}

const Family kScan(&scan_rows);

// ---- what the rows do not reach: zeros, ties, NaN, infinities, integers ---------------------------------------------

Value list(std::initializer_list<double> values, DType dtype = DType::F64, const char* device = "cpu") {
  const TensorData data = TensorData::of<double>({static_cast<std::int64_t>(values.size())}, values);
  return from_data(data.to(dtype), Device::parse(device).autodiff());
}
std::vector<double> numbers(const Value& x) { return x.data().to_vector<double>(); }

TEST(Cumprod, HasItsGradientBesideZeros) {
  // y = (x0, x0 x1, x0 x1 x2, x0 x1 x2 x3); the sum of y differentiated by hand at (2, 0, 3, 0).
  const Value x = list({2, 0, 3, 0}).require_grad();
  const Value total = sum(cumprod(x, 0));
  const Values first = grad(total, Values{x}, {.create_graph = true});
  EXPECT_EQ(numbers(first[0]), (std::vector<double>{1, 8, 0, 0}));
  // d/dx of the second entry, x0 (1 + x2 + x2 x3).
  EXPECT_EQ(numbers(grad(sum(narrow(first[0], 0, 1, 1)), Values{x})[0]), (std::vector<double>{4, 0, 2, 6}));
}

TEST(Prod, HasFirstAndSecondGradientsBesideZeros) {
  const Value x = from_data(TensorData::of<double>({2, 2}, {2, 0, 3, 5}), Device::cpu().autodiff()).require_grad();
  const Values first = grad(prod(x), Values{x}, {.create_graph = true});
  EXPECT_EQ(numbers(first[0]), (std::vector<double>{0, 30, 0, 0}));
  // Row 0 of the Hessian of abcd at (2, 0, 3, 5): (0, cd, bd, bc).
  EXPECT_EQ(numbers(grad(sum(narrow(reshape(first[0], {4}), 0, 0, 1)), Values{x})[0]),
            (std::vector<double>{0, 15, 0, 0}));
}

TEST(Logcumsumexp, NeitherOverflowsNorMindsInfinities) {
  const auto result = numbers(logcumsumexp(list({-INFINITY, 1000, 1000, -2000}, DType::F32), 0));
  EXPECT_EQ(result[0], -INFINITY);
  EXPECT_FLOAT_EQ(static_cast<float>(result[1]), 1000.f);
  EXPECT_FLOAT_EQ(static_cast<float>(result[2]), static_cast<float>(1000 + std::log(2.0)));
  EXPECT_EQ(result[3], result[2]);
  EXPECT_EQ(numbers(logcumsumexp(list({INFINITY, 1, INFINITY}), 0)), (std::vector<double>(3, INFINITY)));
  EXPECT_TRUE(std::isnan(numbers(logcumsumexp(list({0, NAN, 1}), 0))[2]));
  // Of exp(x - log sum): the shares of y1 + y2, y0 being minus infinity whatever x0 is.
  const Value x = list({-INFINITY, 0, 0}).require_grad();
  EXPECT_EQ(numbers(grad(sum(narrow(logcumsumexp(x, 0), 0, 1, 2)), Values{x})[0]), (std::vector<double>{0, 1.5, 0.5}));
}

TEST(Cummax, KeepsTheFirstOfEqualsAndAnyNan) {
  for (const char* device : {"cpu", "reference"}) {
    const auto [values, indices] = cummax(list({1, 3, 3, 2, NAN, 9}, DType::F32, device), 0);
    EXPECT_EQ(numbers(indices), (std::vector<double>{0, 1, 1, 1, 4, 4}));
    EXPECT_TRUE(std::isnan(numbers(values)[5]));
    EXPECT_EQ(numbers(cummin(list({-INFINITY, -INFINITY}, DType::F64, device), 0).indices),
              (std::vector<double>{0, 0}));
    const Value large = list({1, 2}, DType::U64, device) * (std::int64_t{1} << 62);
    EXPECT_EQ(numbers(cummax(large, 0).values), (std::vector<double>{0x1p62, 0x1p63}));
  }
}

TEST(Cumsum, OfIntegersIsInt64AndWraps) {
  for (const char* device : {"cpu", "reference"})
    for (const DType dtype : {DType::Bool, DType::U8, DType::I8, DType::I16, DType::I32, DType::I64, DType::U64}) {
      const Value sums = cumsum(list({1, 0, 1, 1}, dtype, device), 0);
      EXPECT_EQ(sums.dtype(), DType::I64);
      EXPECT_EQ(numbers(sums), (std::vector<double>{1, 1, 2, 3}));
    }
  EXPECT_EQ(numbers(cumsum(list({200, 200}, DType::U8), 0)), (std::vector<double>{200, 400}));
  const Value least = full({2}, std::numeric_limits<std::int64_t>::min(), Device::cpu(), DType::I64);
  EXPECT_EQ(numbers(cumsum(least, 0))[1], 0);
  EXPECT_EQ(numbers(cummax(list({-3, 4, 2}, DType::I16), 0).values), (std::vector<double>{-3, 4, 4}));
}

TEST(Cumsum, OfFloatsDoesNotLoseSmallTerms) {
  const Value x = full({100000}, 0.1f, Device::cpu());
  EXPECT_FLOAT_EQ(static_cast<float>(cumsum(x, 0).data().at(99999)), 10000.f);
}

}  // namespace
}  // namespace kiln::test

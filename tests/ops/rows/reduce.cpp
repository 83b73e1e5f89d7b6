#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "kiln/ops/reduce/statistics.hpp"
#include "tests/ops/harness.hpp"

namespace kiln::test {
namespace {

/// Gathers, for every element of the reduced shape (dimensions kept), the elements that fold into it.
Array fold(const Array& x, const Dims& dims, const std::function<double(const std::vector<double>&)>& f, bool keep) {
  const auto folded = [&](int i) { return std::find(dims.begin(), dims.end(), i) != dims.end(); };
  Shape kept, dropped;
  for (int i = 0; i < x.shape.size(); ++i) {
    kept.push_back(folded(i) ? 1 : x.shape[i]);
    if (!folded(i)) dropped.push_back(x.shape[i]);
  }
  Array result(kept);
  std::vector<std::vector<double>> parts(result.v.size());
  each_index(x.shape, [&](const Dims& index) {
    Dims to = index;
    for (int i = 0; i < to.size(); ++i)
      if (folded(i)) to[i] = 0;
    parts[static_cast<std::size_t>(result.offset(to))].push_back(x(index));
  });
  for (std::size_t i = 0; i < parts.size(); ++i) result.v[i] = f(parts[i]);
  if (!keep) result.shape = dropped;
  return result;
}

double total(const std::vector<double>& v) {
  double t = 0;
  for (double x : v) t += x;
  return t;
}
double product(const std::vector<double>& v) {
  double t = 1;
  for (double x : v) t *= x;
  return t;
}
double largest(const std::vector<double>& v) { return *std::max_element(v.begin(), v.end()); }
double smallest(const std::vector<double>& v) { return *std::min_element(v.begin(), v.end()); }
double average(const std::vector<double>& v) { return total(v) / static_cast<double>(v.size()); }
double spread(const std::vector<double>& v) {
  const double mean = average(v);
  double t = 0;
  for (double x : v) t += (x - mean) * (x - mean);
  return t / static_cast<double>(v.size() - 1);
}
double length(const std::vector<double>& v) {
  double squares = 0;
  for (double x : v) squares += x * x;
  return std::sqrt(squares);
}
double first_largest(const std::vector<double>& v) {
  return static_cast<double>(std::max_element(v.begin(), v.end()) - v.begin());
}
double first_smallest(const std::vector<double>& v) {
  return static_cast<double>(std::min_element(v.begin(), v.end()) - v.begin());
}

std::vector<OpCase> reduce_rows() {
  std::vector<OpCase> rows;
  using Function = Value (*)(const Value&, const Dims&, bool);
  using Meaning = double (*)(const std::vector<double>&);
  struct Named {
    const char* name;
    Function function;
    Meaning meaning;
    OperandSpec::Kind kind;
    bool empty;
  };
  const Named functions[] = {{"sum", kiln::sum, total, OperandSpec::Real, true},
                             {"mean", kiln::mean, average, OperandSpec::Real, false},
                             {"prod", kiln::prod, product, OperandSpec::Real, true},
                             {"max", kiln::max, largest, OperandSpec::Real, false},
                             {"min", kiln::min, smallest, OperandSpec::Real, false},
                             {"any", kiln::any, largest, OperandSpec::Flag, false},
                             {"all", kiln::all, smallest, OperandSpec::Flag, false},
                             {"euclidean_length", kiln::euclidean_length, length, OperandSpec::Real, true}};
  struct Case {
    const char* suffix;
    Shape shape;
    Dims dims;
    bool keep;
    bool small = true;
  };
  const Case cases[] = {{"_last", {3, 5}, {1}, false},
                        {"_first", {4, 3}, {0}, true},
                        {"_middle", {2, 3, 4}, {1}, false},
                        {"_ends", {2, 3, 4}, {0, 2}, false},
                        {"_everything", {3, 4}, {0, 1}, false},
                        {"_nothing_folded", {3}, {}, false},
                        {"_of_a_scalar", {}, {}, false},
                        {"_size_1", {1, 4, 1}, {0, 2}, true},
                        {"_long_rows", {3, 1021}, {1}, false, false},
                        {"_long_columns", {1021, 3}, {0}, false, false},
                        {"_two_of_four", {2, 3, 5, 7}, {2, 3}, false, false}};
  for (const Named& named : functions) {
    for (const Case& c : cases) {
      if (!c.small && std::string_view(named.name) == "prod") continue;
      rows.push_back({.name = std::string(named.name) + c.suffix,
                      .operands = {{c.shape, -2, 2, named.kind}},
                      .function = [=](const Values& in) { return Values{named.function(in[0], c.dims, c.keep)}; },
                      .meaning =
                          [=](const std::vector<Array>& in) {
                            return std::vector<Array>{fold(in[0], c.dims, named.meaning, c.keep)};
                          },
                      .tolerance = c.small ? 4.0 : 40.0,
                      .gradient = named.kind == OperandSpec::Real && c.small,
                      .halves = c.small});
    }
    if (named.empty)
      rows.push_back(
          {.name = std::string(named.name) + "_of_nothing",
           .operands = {{{2, 0, 3}, -2, 2, named.kind}},
           .function = [=](const Values& in) { return Values{named.function(in[0], {1}, false)}; },
           .meaning = [=](const std::vector<Array>&) { return std::vector<Array>{Array({2, 3}, named.meaning({}))}; }});
  }
  for (int dim = 0; dim < 3; ++dim) {
    rows.push_back({.name = text("argmax_dim_", dim),
                    .operands = {{{3, 4, 5}}},
                    .function = [dim](const Values& in) { return Values{argmax(in[0], dim)}; },
                    .meaning =
                        [dim](const std::vector<Array>& in) {
                          return std::vector<Array>{fold(in[0], {dim}, first_largest, false)};
                        },
                    .gradient = false});
    rows.push_back({.name = text("argmin_dim_", dim),
                    .operands = {{{3, 4, 5}}},
                    .function = [dim](const Values& in) { return Values{argmin(in[0], dim, true)}; },
                    .meaning =
                        [dim](const std::vector<Array>& in) {
                          return std::vector<Array>{fold(in[0], {dim}, first_smallest, true)};
                        },
                    .gradient = false});
  }
  rows.push_back({.name = "everything_at_once",
                  .operands = {{{2, 5}}},
                  .function = [](const Values& in) { return Values{mean(in[0]), max(in[0]), min(in[0])}; },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        return std::vector<Array>{fold(in[0], {0, 1}, average, false),
                                                  fold(in[0], {0, 1}, largest, false),
                                                  fold(in[0], {0, 1}, smallest, false)};
                      },
                  .tolerance = 4});
  rows.push_back({.name = "sum_to",
                  .operands = {{{2, 3, 4}}},
                  .function = [](const Values& in) { return Values{sum_to(in[0], {3, 1})}; },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        Array result({3, 1});
                        each_index({2, 3, 4}, [&](const Dims& i) { result({i[1], 0}) += in[0](i); });
                        return std::vector<Array>{result};
                      },
                  .tolerance = 4});
  rows.push_back(
      {.name = "variance",
       .operands = {{{3, 6}}},
       .function = [](const Values& in) { return Values{variance(in[0], {1})}; },
       .meaning = [](const std::vector<Array>& in) { return std::vector<Array>{fold(in[0], {1}, spread, false)}; },
       .tolerance = 4});
  rows.push_back(
      {.name = "sum_of_booleans",
       .operands = {{{3, 6}, 0, 1, OperandSpec::Flag}},
       .function = [](const Values& in) { return Values{sum(in[0], {1})}; },
       .meaning = [](const std::vector<Array>& in) { return std::vector<Array>{fold(in[0], {1}, total, false)}; },
       .gradient = false});
  rows.push_back(
      {.name = "prod_of_integers",
       .operands = {{{3, 6}, -3, 4, OperandSpec::Index}},
       .function = [](const Values& in) { return Values{prod(in[0])}; },
       .meaning = [](const std::vector<Array>& in) { return std::vector<Array>{fold(in[0], {0, 1}, product, false)}; },
       .gradient = false});
  return rows;
}

const Family kReduce(&reduce_rows);

/// Sums, products and extremes of whole numbers, computed here in double or wrapped to 64 bits.
TEST(Reduce, FoldsEveryElementTypeInEveryDirection) {
  const Shape shape{3, 70001};
  std::vector<double> x(static_cast<std::size_t>(numel(shape)));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i * 7919 % 101);
  const TensorData data = TensorData::of<double>(shape, std::span<const double>(x));
  for (const DType dtype : {DType::U8, DType::U16, DType::U32, DType::U64, DType::I8, DType::I16, DType::I32,
                            DType::I64, DType::F16, DType::BF16, DType::F32, DType::F64}) {
    const Value rows = from_data(data.to(dtype), Device::cpu());
    for (const Value& value : {rows, transpose(from_data(transpose(rows).data(), Device::cpu()))}) {
      const auto check = [&](const Value& actual, const std::vector<double>& expected) {
        EXPECT_EQ(actual.data().to_vector<double>(), expected) << name(dtype);
      };
      std::vector<double> total(3), most(3), least(3, 1000);
      for (std::size_t i = 0; i < x.size(); ++i) {
        total[i / 70001] += x[i];
        most[i / 70001] = std::max(most[i / 70001], x[i]);
        least[i / 70001] = std::min(least[i / 70001], x[i]);
      }
      if (dtype == DType::F16) std::fill(total.begin(), total.end(), INFINITY);  // beyond 65504
      if (dtype == DType::BF16)
        for (double& t : total) t = static_cast<float>(BF16(static_cast<float>(t)));
      check(sum(value, {1}), total);
      check(max(value, {1}), most);
      check(min(value, {1}), least);
      check(argmax(eq(value, 100), 1), argmax(value, 1).data().to_vector<double>());
    }
    EXPECT_EQ(sum(rows, {0}).data().at(70000), x[70000] + x[2 * 70001 - 1] + x[3 * 70001 - 1]);
    EXPECT_EQ(any(eq(rows, 100)).item() + all(le(rows, 100)).item() + all(lt(rows, 100)).item(), 2) << name(dtype);
  }
  // Products wrap: 3^50 modulo 2^64, in every layout.
  const Value threes = full({2, 50}, 3, Device::cpu(), DType::U8);
  std::uint64_t power = 1;
  for (int i = 0; i < 50; ++i) power *= 3;
  for (const Value& value : {prod(threes, {1}), prod(transpose(threes), {0})})
    EXPECT_EQ(value.data().to_vector<std::int64_t>()[1], static_cast<std::int64_t>(power));
  EXPECT_EQ(sum(full({40000}, -128, Device::cpu(), DType::I8)).item(), -128.0 * 40000);
  EXPECT_EQ(sum(full({70000}, 65535, Device::cpu(), DType::U16)).item(), 65535.0 * 70000);
}

TEST(Reduce, OfNothingIsTheNeutralElement) {
  for (const char* device : {"cpu", "reference"}) {
    const Value none = zeros({2, 0}, Device::parse(device), DType::Bool);
    EXPECT_EQ(all(none, {1}).data().at(1), 1);
    EXPECT_EQ(any(none, {1}).data().at(1), 0);
    EXPECT_EQ(prod(none, {1}).data().at(1), 1);
    EXPECT_EQ(sum(none).item(), 0);
  }
}

}  // namespace
}  // namespace kiln::test

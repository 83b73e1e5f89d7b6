#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include <gtest/gtest.h>

#include "kiln/autodiff/backward.hpp"
#include "kiln/core/parallel.hpp"
#include "kiln/core/random.hpp"
#include "kiln/ops/reduce/order.hpp"
#include "tests/ops/harness.hpp"

namespace kiln::test {
namespace {

bool precedes(double a, double b) { return a < b || (std::isnan(b) && !std::isnan(a)); }

/// The places of a line's elements in ascending or descending order, equal ones as they stood.
std::vector<std::size_t> order_of(const std::vector<double>& line, bool descending) {
  std::vector<std::size_t> places(line.size());
  std::iota(places.begin(), places.end(), 0u);
  std::sort(places.begin(), places.end(), [&](std::size_t a, std::size_t b) {
    const bool before = precedes(line[a], line[b]), after = precedes(line[b], line[a]);
    return before != after ? before != descending : a < b;
  });
  return places;
}

/// For each line of x along `dim`, the places that `choose` names: their elements and they themselves.
std::vector<Array> chosen(const Array& x, int dim,
                          const std::function<std::vector<std::size_t>(const std::vector<double>&)>& choose) {
  Shape shape = x.shape;
  shape[dim] = static_cast<std::int64_t>(choose(std::vector<double>(static_cast<std::size_t>(x.shape[dim]))).size());
  Array values(shape), places(shape);
  each_index(shape, [&](const Dims& index) {
    if (index[dim] != 0) return;
    std::vector<double> line;
    Dims at = index;
    for (at[dim] = 0; at[dim] < x.shape[dim]; ++at[dim]) line.push_back(x(at));
    const std::vector<std::size_t> picked = choose(line);
    for (at[dim] = 0; at[dim] < shape[dim]; ++at[dim]) {
      const std::size_t place = picked[static_cast<std::size_t>(at[dim])];
      values(at) = line[place];
      places(at) = static_cast<double>(place);
    }
  });
  return {values, places};
}

std::vector<Array> without(std::vector<Array> arrays, int dim) {
  for (Array& array : arrays) array.shape.erase(dim);
  return arrays;
}

Values both(const ValueWithIndices& result) { return {result.values, result.indices}; }

/// The smallest of the most frequent, where it first stands.
std::vector<std::size_t> most_frequent(const std::vector<double>& line) {
  std::size_t best = 0;
  std::ptrdiff_t most = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const std::ptrdiff_t count = std::count(line.begin(), line.end(), line[i]);
    if (count > most || (count == most && line[i] < line[best])) {
      most = count;
      best = i;
    }
  }
  return {best};
}

std::vector<OpCase> order_rows() {
  std::vector<OpCase> rows;
  struct Case {
    const char* suffix;
    Shape shape;
    int dim;
  };
  const Case cases[] = {{"_last", {3, 5}, 1},          {"_first", {6, 3}, 0},      {"_middle", {2, 4, 3}, 1},
                        {"_of_one", {2, 1, 3}, 1},     {"_of_nothing", {2, 0}, 1}, {"_many_lines", {21, 300}, 1},
                        {"_long_columns", {301, 3}, 0}};
  for (const Case& c : cases) {
    const int dim = c.dim;
    const bool small = numel(c.shape) < 200;
    const std::int64_t length = c.shape[dim];
    for (const bool down : {false, true}) {
      const char* way = down ? "_descending" : "";
      rows.push_back({.name = text("sort", c.suffix, way),
                      .operands = {{c.shape}},
                      .function = [=](const Values& in) { return both(sort(in[0], dim, down)); },
                      .meaning =
                          [=](const std::vector<Array>& in) {
                            return chosen(in[0], dim, [=](const auto& line) { return order_of(line, down); });
                          },
                      .gradient = small});
      for (const std::int64_t k : std::set{std::min<std::int64_t>(1, length), length / 8, length})
        rows.push_back({.name = text("topk_", k, c.suffix, down ? "_largest" : "_smallest"),
                        .operands = {{c.shape}},
                        .function = [=](const Values& in) { return both(topk(in[0], k, dim, down)); },
                        .meaning =
                            [=](const std::vector<Array>& in) {
                              return chosen(in[0], dim, [=](const auto& line) {
                                auto places = order_of(line, down);
                                places.resize(static_cast<std::size_t>(k));
                                return places;
                              });
                            },
                        .gradient = small});
    }
    if (length == 0) continue;
    rows.push_back({.name = text("kthvalue", c.suffix),
                    .operands = {{c.shape}},
                    .function = [=](const Values& in) { return both(kthvalue(in[0], (length + 1) / 2, dim)); },
                    .meaning =
                        [=](const std::vector<Array>& in) {
                          return without(chosen(in[0], dim,
                                                [=](const auto& line) {
                                                  const auto k = static_cast<std::size_t>((length + 1) / 2);
                                                  return std::vector<std::size_t>{order_of(line, false)[k - 1]};
                                                }),
                                         dim);
                        },
                    .gradient = small});
    rows.push_back(
        {.name = text("mode", c.suffix),
         .operands = {{c.shape, -3, 3, OperandSpec::Index}},
         .function = [=](const Values& in) { return both(mode(in[0], dim)); },
         .meaning = [=](const std::vector<Array>& in) { return without(chosen(in[0], dim, most_frequent), dim); },
         .gradient = false});
    for (const bool down : {false, true}) {
      const auto extreme = down ? max_with_index : min_with_index;
      rows.push_back({.name = text(down ? "max" : "min", "_with_index", c.suffix),
                      .operands = {{c.shape}},
                      .function = [=](const Values& in) { return both(extreme(in[0], dim, true)); },
                      .meaning =
                          [=](const std::vector<Array>& in) {
                            return chosen(in[0], dim, [=](const auto& line) {
                              return std::vector<std::size_t>{order_of(line, down)[0]};
                            });
                          },
                      .gradient = small});
    }
  }
  rows.push_back({.name = "msort",
                  .operands = {{{4, 2}}},
                  .function = [](const Values& in) { return Values{msort(in[0])}; },
                  .meaning =
                      [](const std::vector<Array>& in) {
                        return std::vector<Array>{
                            chosen(in[0], 0, [](const auto& line) { return order_of(line, false); })[0]};
                      }});
  rows.push_back(
      {.name = "argsort_and_argtopk",
       .operands = {{{4, 9}}},
       .function = [](const Values& in) { return Values{argsort(in[0], 1, true), argtopk(in[0], 2, 1, false)}; },
       .meaning =
           [](const std::vector<Array>& in) {
             return std::vector<Array>{chosen(in[0], 1, [](const auto& line) { return order_of(line, true); })[1],
                                       chosen(in[0], 1, [](const auto& line) {
                                         auto places = order_of(line, false);
                                         places.resize(2);
                                         return places;
                                       })[1]};
           },
       .gradient = false});

  // Each line of the first operand is sorted by the functions themselves, so that rows stay about the search.
  for (const bool right : {false, true})
    for (const Shape& shape : {Shape{7}, Shape{3, 7}, Shape{3, 40}}) {
      const Shape wanted{3, 50};
      rows.push_back(
          {.name = text("searchsorted_", shape.size(), "_", shape.back(), right ? "_right" : ""),
           .operands = {{shape, -3, 4, OperandSpec::Index}, {wanted, -4, 5, OperandSpec::Index}},
           .function = [=](const Values& in) { return Values{searchsorted(sort(in[0], -1).values, in[1], right)}; },
           .meaning =
               [=](const std::vector<Array>& in) {
                 Array result(wanted);
                 each_index(wanted, [&](const Dims& index) {
                   for (std::int64_t i = 0; i < shape.back(); ++i) {
                     const double x = shape.size() == 1 ? in[0]({i}) : in[0]({index[0], i});
                     result(index) += right ? x <= in[1](index) : x < in[1](index);
                   }
                 });
                 return std::vector<Array>{result};
               },
           .gradient = false});
    }
  for (const bool right : {false, true})
    rows.push_back({.name = text("bucketize", right ? "_right" : ""),
                    .operands = {{{4, 9}}, {{5}}},
                    .function = [=](const Values& in) { return Values{bucketize(in[0], msort(in[1]), right)}; },
                    .meaning =
                        [=](const std::vector<Array>& in) {
                          Array result(in[0].shape);
                          for (std::size_t i = 0; i < result.v.size(); ++i)
                            for (const double b : in[1].v) result.v[i] += right ? b <= in[0].v[i] : b < in[0].v[i];
                          return std::vector<Array>{result};
                        },
                    .gradient = false});
  for (const bool down : {false, true})
    rows.push_back({.name = text("is_sorted", down ? "_descending" : ""),
                    .operands = {{{40, 3}, 0, 3, OperandSpec::Index}},
                    .function = [=](const Values& in) { return Values{is_sorted(in[0], 1, down)}; },
                    .meaning =
                        [=](const std::vector<Array>& in) {
                          Array result({40}, 1);
                          each_index({40, 2}, [&](const Dims& i) {
                            const double a = in[0](i), b = in[0]({i[0], i[1] + 1});
                            if (down ? a < b : a > b) result({i[0]}) = 0;
                          });
                          return std::vector<Array>{result};
                        },
                    .gradient = false});
  return rows;
}

const Family kOrder(&order_rows);

// ---- special numbers, every element type, and lines long enough for other algorithms --------------------------------

Value list(std::initializer_list<double> values, DType dtype = DType::F32, const char* device = "cpu") {
  const TensorData data = TensorData::of<double>({static_cast<std::int64_t>(values.size())}, values);
  return from_data(data.to(dtype), Device::parse(device));
}
std::vector<double> numbers(const Value& x) { return x.data().to_vector<double>(); }

TEST(Sort, TakesNanForTheLargestAndBothZerosForOne) {
  for (const char* device : {"cpu", "reference"})
    for (const DType dtype : {DType::F64, DType::F32, DType::F16, DType::BF16}) {
      const Value x = list({0.0, NAN, -0.0, INFINITY, -INFINITY, -NAN, 1}, dtype, device);
      EXPECT_EQ(numbers(sort(x, 0).indices), (std::vector<double>{4, 0, 2, 6, 3, 1, 5}))
          << device << " " << name(dtype);
      EXPECT_EQ(numbers(sort(x, 0, true).indices), (std::vector<double>{1, 5, 3, 6, 0, 2, 4}));
      EXPECT_EQ(numbers(topk(x, 3, 0).indices), (std::vector<double>{1, 5, 3}));
      EXPECT_TRUE(std::signbit(numbers(sort(x, 0).values)[2])) << "elements come out as they went in";
      EXPECT_EQ(numbers(searchsorted(sort(x, 0).values, list({NAN, 0}, dtype, device))), (std::vector<double>{5, 1}));
    }
}

// Of a long line, elements are made of their keys again, but for those that share one.
TEST(Sort, LeavesTheElementsOfLongLinesAsTheyAre) {
  constexpr std::int64_t kCount = 40000;
  const Threads one(1);
  for (const DType dtype : {DType::F64, DType::F32, DType::F16, DType::I64, DType::I16, DType::U8}) {
    std::vector<double> x;
    for (std::int64_t i = 0; i < kCount; ++i) {
      const std::int64_t k = i * 7919 % 251;
      x.push_back(is_float(dtype) ? (k == 0   ? 0.0
                                     : k == 1 ? -0.0
                                     : k == 2 ? NAN
                                              : static_cast<double>(k) / 8 - 15)
                                  : static_cast<double>(dtype == DType::U8 ? k : k - 120));
    }
    const Value line = from_data(TensorData::of<double>({kCount}, x).to(dtype), Device::cpu());
    for (const bool descending : {false, true}) {
      std::vector<double> expected = x;
      std::stable_sort(expected.begin(), expected.end(),
                       [&](double a, double b) { return descending ? precedes(b, a) : precedes(a, b); });
      const std::vector<double> found = numbers(sort(line, 0, descending).values);
      for (std::size_t i = 0; i < found.size(); ++i)
        ASSERT_TRUE(std::signbit(found[i]) == std::signbit(expected[i]) &&
                    (found[i] == expected[i] || (found[i] != found[i] && expected[i] != expected[i])))
            << name(dtype) << ' ' << i << ": " << found[i] << " for " << expected[i];
    }
  }
}

// In short lines many values are looked for by a table, unless their numbers crowd together.
TEST(SearchSorted, FindsManyValuesInAShortLine) {
  std::vector<double> even, crowded, repeated{-1, -1, 0, 0, 0, 0.25, 0.5, 1, 1}, ends{-INFINITY, 0, 1, INFINITY, NAN};
  for (int i = 0; i <= 100; ++i) even.push_back(-2 + 0.04 * i), crowded.push_back(i < 100 ? i * 1e-6 : 1e3);
  for (const DType dtype : {DType::F32, DType::F64})
    for (const std::vector<double>& line : {even, crowded, repeated, ends, std::vector<double>{3}}) {
      const TensorData sorted = TensorData::of<double>({std::ssize(line)}, line).to(dtype);
      const auto count = static_cast<std::int64_t>(300 * line.size());
      std::vector<double> wanted = sorted.to_vector<double>();  // at the numbers, between them, and beyond
      while (std::ssize(wanted) < count - 6)
        wanted.push_back(-2.5 + 5.0 * static_cast<double>(wanted.size()) / static_cast<double>(count));
      wanted.insert(wanted.end(), {NAN, -INFINITY, INFINITY, 1e30, -1e30, -0.0});
      const TensorData values = TensorData::of<double>({count}, wanted).to(dtype);
      const std::vector<double> in = sorted.to_vector<double>(), at = values.to_vector<double>();
      for (const bool right : {false, true}) {
        std::vector<double> expected;
        for (const double x : at) {
          const auto place = right ? std::upper_bound(in.begin(), in.end(), x, precedes)
                                   : std::lower_bound(in.begin(), in.end(), x, precedes);
          expected.push_back(static_cast<double>(place - in.begin()));
        }
        const Device cpu = Device::cpu();
        EXPECT_EQ(numbers(searchsorted(from_data(sorted, cpu), from_data(values, cpu), right)), expected)
            << name(dtype) << ' ' << line.size() << ' ' << right;
      }
    }
}

TEST(Sort, OrdersEveryElementType) {
  for (const char* device : {"cpu", "reference"}) {
    for (const DType dtype : {DType::I64, DType::I32, DType::I16, DType::I8, DType::F64, DType::F16, DType::BF16}) {
      const Value x = list({5, -128, 7, 0, 7, -1}, dtype, device);
      EXPECT_EQ(numbers(sort(x, 0).values), (std::vector<double>{-128, -1, 0, 5, 7, 7}));
      EXPECT_EQ(numbers(topk(x, 2, 0).indices), (std::vector<double>{2, 4}));
      EXPECT_EQ(numbers(argmax(x)), (std::vector<double>{2}));
      EXPECT_EQ(numbers(argmin(x)), (std::vector<double>{1}));
    }
    for (const DType dtype : {DType::U64, DType::U32, DType::U16, DType::U8}) {
      EXPECT_EQ(numbers(sort(list({5, 200, 0}, dtype, device), 0, true).indices), (std::vector<double>{1, 0, 2}));
      EXPECT_EQ(numbers(argmax(list({5, 200, 0}, dtype, device))), (std::vector<double>{1}));
    }
    EXPECT_EQ(numbers(argsort(list({1, 0, 1, 0}, DType::Bool, device), 0)), (std::vector<double>{1, 3, 0, 2}));
    const Value beyond = from_data(TensorData::of<std::uint64_t>({2}, {~std::uint64_t{0}, 1}), Device::parse(device));
    EXPECT_EQ(numbers(argsort(beyond, 0)), (std::vector<double>{1, 0}));
  }
}

TEST(Sort, AgreesWithTheLibraryOnLongLines) {
  Random random(7);
  for (const std::int64_t size : {std::int64_t{129}, std::int64_t{5000}, std::int64_t{200000}}) {
    // Few distinct numbers, so that ties are many.
    std::vector<double> x(static_cast<std::size_t>(size));
    for (double& value : x) value = static_cast<double>(random.below(1000)) - 500;
    for (const DType dtype : {DType::F32, DType::I64, DType::F16}) {
      const Value values =
          from_data(TensorData::of<double>({size}, std::span<const double>(x)).to(dtype), Device::cpu());
      for (const bool down : {false, true}) {
        const std::vector<std::size_t> places = order_of(x, down);
        const auto [sorted, indices] = sort(values, 0, down);
        EXPECT_TRUE(std::ranges::equal(indices.data().to_vector<std::int64_t>(), places));
        for (const std::int64_t k : {std::int64_t{1}, std::int64_t{10}, size / 5, size / 2}) {
          const auto best = topk(values, k, 0, down);
          EXPECT_TRUE(std::ranges::equal(best.indices.data().to_vector<std::int64_t>(),
                                         std::span(places).first(static_cast<std::size_t>(k))))
              << k << " of " << size;
        }
      }
    }
  }
}

TEST(Argmax, FindsTheFirstInLongLinesOfEitherDirection) {
  for (const DType dtype : {DType::F32, DType::F16, DType::U8, DType::I32}) {
    TensorData data = TensorData({70000, 3}, DType::F32);
    data.as<float>()[3 * 60001 + 1] = 9;
    data.as<float>()[3 * 60002 + 1] = 9;
    data.as<float>()[3 * 5 + 2] = 3;
    const Value x = from_data(data.to(dtype), Device::cpu());
    EXPECT_EQ(numbers(argmax(x, 0)), (std::vector<double>{0, 60001, 5}));
    EXPECT_EQ(numbers(argmax(transpose(x), 1)), (std::vector<double>{0, 60001, 5}));
    EXPECT_EQ(numbers(argmax(x)), (std::vector<double>{3 * 60001 + 1}));
  }
  TensorData data = TensorData({70000}, DType::F32);
  data.as<float>()[66000] = data.as<float>()[69000] = NAN;
  EXPECT_EQ(numbers(argmin(from_data(data, Device::cpu()))), (std::vector<double>{66000}));
}

}  // namespace
}  // namespace kiln::test

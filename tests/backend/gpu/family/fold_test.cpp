// Reductions against loops over doubles, of sizes at and beyond all that a kernel's shape depends on. Data are whole
// numbers, of which sums are exact in any order: each element must be there exactly once.
#include <algorithm>
#include <cmath>
#include <functional>

#include "kiln/ops/elementwise/enumerators.hpp"
#include "kiln/ops/planned/fused.hpp"
#include "tests/backend/gpu/family/device.hpp"

namespace kiln::test {
namespace {

using Line = std::vector<double>;
using Meaning = std::function<double(const Line&)>;

/// What `meaning` says of the elements along `dims` for each of the others, in row-major order.
std::vector<double> fold(const TensorData& x, const Dims& dims, const Meaning& meaning) {
  Shape kept = x.shape();
  for (const auto dim : dims) kept[static_cast<int>(dim)] = 1;
  std::vector<Line> lines(places(kept));
  const std::vector<double> all = x.to_vector<double>();
  each_index(x.shape(), [&](const Dims& index) {
    Dims to = index;
    for (const auto dim : dims) to[static_cast<int>(dim)] = 0;
    lines[place_of(kept, to)].push_back(all[place_of(x.shape(), index)]);
  });
  std::vector<double> results;
  for (const Line& line : lines) results.push_back(meaning(line));
  return results;
}

double total(const Line& v) {
  double sum = 0;
  for (const double x : v) sum += x;
  return sum;
}
double product(const Line& v) {
  double result = 1;
  for (const double x : v) result *= x;
  return result;
}
bool beats(double a, double b, bool largest) { return b == b && (a != a || (largest ? a > b : a < b)); }
std::size_t extreme(const Line& v, bool largest) {
  std::size_t best = 0;
  for (std::size_t i = 1; i < v.size(); ++i)
    if (beats(v[i], v[best], largest)) best = i;
  return best;
}
double any(const Line& v) {
  for (const double x : v)
    if (x != 0) return 1;
  return 0;
}
double all(const Line& v) {
  for (const double x : v)
    if (x == 0) return 0;
  return 1;
}
double mean(const Line& v) { return total(v) / static_cast<double>(v.size()); }
double length(const Line& v) {
  double squares = 0;
  for (const double x : v) squares += x * x;
  return std::sqrt(squares);
}
double largest(const Line& v) { return v[extreme(v, true)]; }
double smallest(const Line& v) { return v[extreme(v, false)]; }

Meaning meaning_of(op::ReduceFn fn) {
  switch (fn) {
    case op::ReduceFn::Sum: return total;
    case op::ReduceFn::Mean: return mean;
    case op::ReduceFn::Prod: return product;
    case op::ReduceFn::Max: return largest;
    case op::ReduceFn::Min: return smallest;
    case op::ReduceFn::Any: return any;
    case op::ReduceFn::All: return all;
    case op::ReduceFn::Length: return length;
  }
  return {};
}

void expect_reduced(op::ReduceFn fn, const Value& x, const Dims& dims) {
  const TensorData data = x.data();
  expect_numbers(emit(op::Reduce{fn, dims}, {x}).data(), fold(data, dims, meaning_of(fn)),
                 text(op::name(fn), " of ", data.dtype(), " ", data.shape(), " over ", dims));
}
void expect_places(const Value& x, int dim) {
  const TensorData data = x.data();
  for (const auto fn : {op::ArgFn::ArgMax, op::ArgFn::ArgMin})
    expect_numbers(
        emit(op::ArgReduce{fn, dim}, {x}).data(),
        fold(data, {dim}, [&](const Line& v) { return static_cast<double>(extreme(v, fn == op::ArgFn::ArgMax)); }),
        text(op::name(fn), " of ", data.dtype(), " ", data.shape(), " along ", dim));
}
Value made(const Shape& shape, DType dtype, int distinct = 7, unsigned seed = 1) {
  return from_data(whole_numbers(shape, dtype, distinct, seed), simulated());
}

TEST(GpuFold, SumsRowsOfAnyLength) {
  for (const std::int64_t length :
       {1,   2,   3,   4,    7,    8,    15,   16,   31,   32,   33,   63,   64,    127,  128,
        129, 500, 512, 1000, 1021, 1024, 1028, 2052, 4095, 4096, 4100, 8192, 16388, 33000})
    for (const std::int64_t rows : {1, 2, 9})
      if (rows * length < 40000) expect_reduced(op::ReduceFn::Sum, made({rows, length}, DType::F32), {1});
  for (const std::int64_t rows : {255, 257, 1030}) expect_reduced(op::ReduceFn::Sum, made({rows, 3}, DType::F32), {1});
}

TEST(GpuFold, HasLengthsOfElementsOfAnySize) {
  for (const DType dtype : {DType::F64, DType::F32, DType::F16, DType::BF16})
    for (const auto& [shape, dims] :
         {std::pair<Shape, Dims>{{3, 70}, {1}}, {{70, 6}, {0}}, {{2, 9000}, {1}}, {{2500, 8}, {0}}}) {
      const bool wide = dtype == DType::F32 || dtype == DType::BF16;
      for (const double size : {1.0, 0.0,
                                dtype == DType::F64 ? 1e-160
                                : wide              ? 0x1p-100
                                                    : 0x1p-12,
                                dtype == DType::F64 ? 1e200
                                : wide              ? 0x1p118
                                                    : 0x1p7}) {
        const TensorData whole = whole_numbers(shape, DType::F64, 7, 3);
        std::vector<double> numbers;
        for (const double each : whole.to_vector<double>()) numbers.push_back(each * size);
        const TensorData x = TensorData::of<double>(shape, std::span<const double>(numbers)).to(dtype);
        const Value found = emit(op::Reduce{op::ReduceFn::Length, dims}, {from_data(x, simulated())});
        std::vector<double> expected;
        for (const double each : fold(whole, dims, length)) expected.push_back(each * size);
        const double share = dtype == DType::F64 ? 1e-12 : dtype == DType::F32 ? 4e-6 : 1e-2;
        expect_near(found, expected, share * *std::ranges::min_element(expected), text(dtype, " ", shape, " ", size));
      }
    }
}

TEST(GpuFold, SumsColumnsOfAnyLength) {
  for (const std::int64_t length : {1, 2, 3, 7, 8, 9, 31, 33, 64, 255, 257, 1025, 4097})
    for (const std::int64_t columns : {1, 2, 3, 4, 5, 8, 31, 33, 128, 130, 260})
      if (length * columns < 20000) expect_reduced(op::ReduceFn::Sum, made({length, columns}, DType::F32), {0});
}

TEST(GpuFold, KnowsEveryFunctionOfEveryType) {
  for (const DType dtype : kAllTypes)
    for (const auto& [shape, dims] :
         {std::pair<Shape, Dims>{{3, 70}, {1}}, {{70, 6}, {0}}, {{2, 9000}, {1}}, {{2500, 8}, {0}}})
      for (const auto fn : {op::ReduceFn::Sum, op::ReduceFn::Mean, op::ReduceFn::Max, op::ReduceFn::Min,
                            op::ReduceFn::Any, op::ReduceFn::All}) {
        if ((fn == op::ReduceFn::Any || fn == op::ReduceFn::All) != (dtype == DType::Bool)) continue;
        if (fn == op::ReduceFn::Mean && dtype != DType::F64) continue;
        expect_reduced(fn, made(shape, dtype, dtype == DType::Bool ? 2 : 5), dims);
      }
  for (const DType dtype : {DType::F64, DType::F32, DType::F16, DType::I32, DType::U8})
    for (const auto& dims : {Dims{0}, Dims{1}}) {
      std::vector<double> numbers(4 * 9, 1);
      numbers[5] = 2, numbers[14] = 3, numbers[17] = 2;
      const TensorData x = TensorData::of<double>({4, 9}, std::span<const double>(numbers)).to(dtype);
      expect_reduced(op::ReduceFn::Prod, from_data(x, simulated()), dims);
    }
}

TEST(GpuFold, FindsTheFirstExtreme) {
  for (const DType dtype : kAllTypes) {
    expect_places(made({3, 70}, dtype, dtype == DType::Bool ? 2 : 5), 1);
    expect_places(made({70, 6}, dtype, dtype == DType::Bool ? 2 : 5), 0);
  }
  for (const std::int64_t length : {1, 31, 33, 1024, 4100, 20000}) expect_places(made({2, length}, DType::F32, 50), 1);
  for (const std::int64_t length : {1, 33, 4100}) expect_places(made({length, 4}, DType::F32, 50), 0);
  expect_places(made({3, 40, 5}, DType::F32, 9), 1);
}

TEST(GpuFold, FoldsAnyDimensionsInAnyOrder) {
  const Value x = made({4, 5, 6, 7}, DType::F32), wide = made({3, 16, 8, 32}, DType::BF16);
  for (const Value& each :
       {x, permute(x, {3, 1, 0, 2}), flip(x, {1, 3}), narrow(x, 2, 1, 4), wide, permute(wide, {0, 2, 3, 1}),
        expand(narrow(x, 1, 2, 1), {4, 9, 6, 7}), emit(op::Slice{{0, 1, 0, 1}, {1, 2, 1, 3}, {4, 2, 6, 2}}, {x})})
    for (const Dims& dims : {Dims{}, Dims{0}, Dims{1}, Dims{2}, Dims{3}, Dims{0, 1}, Dims{0, 2}, Dims{1, 3},
                             Dims{0, 2, 3}, Dims{1, 2, 3}, Dims{0, 1, 2, 3}}) {
      expect_reduced(op::ReduceFn::Sum, each, dims);
      expect_reduced(op::ReduceFn::Max, each, dims);
    }
}

TEST(GpuFold, SumsLongRowsFromWhereNothingIsAligned) {
  const Value x = made({20011}, DType::F32);
  for (const std::int64_t from : {0, 1, 2, 3}) expect_reduced(op::ReduceFn::Sum, narrow(x, 0, from, 20000), {0});
  expect_reduced(op::ReduceFn::Sum, made({4, 3, 7000}, DType::F16, 3), {0, 2});
}

TEST(GpuFold, LetsNaNWinAndNothingBeNothing) {
  for (const DType dtype : {DType::F64, DType::F32, DType::F16})
    for (const std::int64_t length : {3, 40, 1500})
      for (const Dims& dims : {Dims{0}, Dims{1}}) {
        std::vector<double> numbers = whole_numbers({length, length % 7 + 2}, dtype, 9).to_vector<double>();
        numbers[numbers.size() / 2] = NAN;
        numbers[numbers.size() / 2 + 1] = NAN;
        numbers[0] = -INFINITY;
        const TensorData data =
            TensorData::of<double>({length, length % 7 + 2}, std::span<const double>(numbers)).to(dtype);
        const Value x = from_data(data, simulated());
        for (const auto fn : {op::ReduceFn::Sum, op::ReduceFn::Max, op::ReduceFn::Min}) expect_reduced(fn, x, dims);
        expect_places(x, static_cast<int>(dims[0]));
      }
  const Value none = made({2, 0, 3}, DType::F32);
  for (const auto fn : {op::ReduceFn::Sum, op::ReduceFn::Prod, op::ReduceFn::Mean}) expect_reduced(fn, none, {1});
  EXPECT_EQ(emit(op::Reduce{op::ReduceFn::Max, {2}}, {none}).shape(), (Shape{2, 0, 1}));
}

TEST(GpuFold, MeansTheSameBitsEveryTime) {
  TensorData data = whole_numbers({3, 30000}, DType::F32, 1000);
  for (float& x : data.as<float>()) x = 1 / (x + 600);
  const Value x = from_data(data, simulated());
  EXPECT_TRUE(same_bytes(sum(x, {1}, false).data(), sum(x, {1}, false).data()));
  const std::vector<double> wanted = fold(data, {1}, total), found = sum(x, {1}, false).data().to_vector<double>();
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(found[i], wanted[i], std::abs(wanted[i]) * 1e-6);
}

/// y = (x * b) as a result, and reductions of x * b and of x + 1 over the dimensions from `kept` on.
TEST(GpuFold, FoldsWhatAProgramMakes) {
  using op::Program;
  for (const DType dtype : {DType::F32, DType::F64, DType::BF16})
    for (const auto& [shape, kept] : {std::pair<Shape, int>{{5, 33}, 1},
                                      {{3, 4, 64}, 1},
                                      {{3, 4, 64}, 2},
                                      {{2, 9000}, 1},
                                      {{40, 8}, 0},
                                      {{2, 0}, 1},
                                      {{0, 3}, 1}}) {
      const bool empty = numel(shape) == 0;
      auto program = std::make_shared<Program>();
      program->shape = shape;
      program->inputs = {dtype, dtype, dtype};
      program->steps.push_back({.op = op::Binary{op::BinaryFn::Mul},
                                .in = {{{op::ProgramOperand::Input, 0}, {op::ProgramOperand::Input, 1}}},
                                .dtype = dtype});
      program->steps.push_back({.op = op::Binary{op::BinaryFn::Add},
                                .in = {{{op::ProgramOperand::Input, 0}, {op::ProgramOperand::Input, 2}}},
                                .dtype = dtype});
      program->outputs = {0};
      Dims dims;
      for (int dim = kept; dim < shape.size(); ++dim) dims.push_back(dim);
      program->folds.push_back({0, op::ReduceFn::Sum, dims});
      if (!empty) program->folds.push_back({1, op::ReduceFn::Max, dims});
      Shape row = Shape::filled(shape.size(), 1);
      row.back() = shape.back();
      const TensorData x = whole_numbers(shape, dtype, 5, 3), b = whole_numbers(row, dtype, 3, 4);
      const Values in{from_data(x, simulated()), from_data(b, simulated()), 1.0};
      Values out;
      for (const Desc& desc : program->results()) out.emplace_back(make_ref<Node>(desc, simulated()));
      simulated().backend().run(op::Op(op::Fused{program}), {.in = in, .out = out});

      std::vector<double> products = x.to_vector<double>(), sums = products;
      const std::vector<double> factors = b.to_vector<double>();
      for (std::size_t i = 0; i < products.size(); ++i) {
        products[i] *= factors[i % factors.size()];
        sums[i] += 1;
      }
      const std::string what = text(dtype, " ", shape, ", ", kept, " kept");
      expect_numbers(out[0].data(), products, what);
      expect_numbers(out[1].data(), fold(TensorData::of<double>(shape, std::span<const double>(products)), dims, total),
                     what);
      if (!empty)
        expect_numbers(out[2].data(), fold(TensorData::of<double>(shape, std::span<const double>(sums)), dims, largest),
                       what);
    }
}

}  // namespace
}  // namespace kiln::test

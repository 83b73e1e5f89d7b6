#include "tests/ops/harness.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <set>

#include "kiln/autodiff/backward.hpp"
#include "kiln/backend/cpu/fast.hpp"
#include "kiln/core/grain.hpp"
#include "kiln/core/parallel.hpp"
#include "kiln/core/random.hpp"
#include "kiln/core/reflect/reflect_enum.hpp"
#include "kiln/ops/op.hpp"
#include "tests/support/backends/devices.hpp"
#include "tests/support/courier.hpp"
#include "tests/support/forwarding.hpp"

namespace kiln::test {

void each_index(const Shape& shape, const std::function<void(const Dims&)>& f) {
  Dims index = Dims::filled(shape.size(), 0);
  for (std::int64_t n = numel(shape); n > 0; --n) {
    f(index);
    for (int i = shape.size() - 1; i >= 0 && ++index[i] == shape[i]; --i) index[i] = 0;
  }
}

double broadcast_at(const Array& x, const Dims& index) {
  Dims own;
  for (int i = 0; i < x.shape.size(); ++i)
    own.push_back(x.shape[i] == 1 ? 0 : index[i + index.size() - x.shape.size()]);
  return x(own);
}

namespace {

std::vector<std::vector<OpCase> (*)()>& families() {
  static std::vector<std::vector<OpCase> (*)()> list;
  return list;
}

}  // namespace

Family::Family(std::vector<OpCase> (*rows)()) { families().push_back(rows); }

std::vector<OpCase> all_rows() {
  std::vector<OpCase> rows;
  for (const auto family : families())
    for (OpCase& row : family()) rows.push_back(std::move(row));
  return rows;
}

std::ostream& operator<<(std::ostream& out, const OpCase& row) { return out << row.name; }

namespace {

std::vector<Array> draw(const OpCase& row) {
  std::vector<Array> drawn;
  Random random(Key{std::hash<std::string>{}(row.name)});
  for (const OperandSpec& operand : row.operands) {
    Array x(operand.shape);
    const auto count = static_cast<std::int64_t>(x.v.size());
    std::vector<std::int64_t> places(x.v.size());
    std::iota(places.begin(), places.end(), 0);
    for (std::int64_t i = count - 1; i > 0; --i)
      std::swap(places[static_cast<std::size_t>(i)], places[static_cast<std::size_t>(random.below(i + 1))]);
    for (std::size_t i = 0; i < x.v.size(); ++i) {
      if (operand.kind == OperandSpec::Index) x.v[i] = std::floor(random.uniform(operand.low, operand.high));
      else if (operand.kind == OperandSpec::Flag) x.v[i] = static_cast<double>(random.below(2));
      else
        x.v[i] = operand.low + (operand.high - operand.low) *
                                   (static_cast<double>(places[i]) + random.uniform(0.3, 0.7)) /
                                   static_cast<double>(count);
    }
    drawn.push_back(std::move(x));
  }
  return drawn;
}

DType dtype_of_operand(const OperandSpec& operand, DType real) {
  return operand.kind == OperandSpec::Index ? DType::I64 : operand.kind == OperandSpec::Flag ? DType::Bool : real;
}

TensorData to_data(const Array& x, DType dtype) {
  return TensorData::of<double>(x.shape, std::span<const double>(x.v)).to(dtype);
}

Array to_array(const TensorData& data) {
  Array x(data.shape());
  const std::vector<double> values = data.to_vector<double>();
  x.v.assign(values.begin(), values.end());
  return x;
}

/// The operands as the device will see them: rounded to `dtype`.
std::vector<Array> rounded(const OpCase& row, std::vector<Array> drawn, DType dtype) {
  for (std::size_t i = 0; i < drawn.size(); ++i)
    if (row.operands[i].kind == OperandSpec::Real) drawn[i] = to_array(to_data(drawn[i], dtype));
  return drawn;
}

/// The same tensor in memory that runs backwards through the dimensions, or in every second place.
Value strided(const Array& x, DType dtype, const Device& device) {
  const int rank = x.shape.size();
  if (rank == 0) return from_data(to_data(x, dtype), device);
  if (rank == 1) {
    Array wide({x.shape[0] * 2}, 77);
    for (std::size_t i = 0; i < x.v.size(); ++i) wide.v[2 * i] = x.v[i];
    const Range every_second{0, {}, 2};
    return slice(from_data(to_data(wide, dtype), device), {&every_second, 1});
  }
  Dims reversed;
  Shape shape;
  for (int i = rank - 1; i >= 0; --i) {
    reversed.push_back(i);
    shape.push_back(x.shape[i]);
  }
  Array turned(shape);
  each_index(x.shape, [&](const Dims& index) {
    Dims back;
    for (int i = rank - 1; i >= 0; --i) back.push_back(index[i]);
    turned(back) = x(index);
  });
  return permute(from_data(to_data(turned, dtype), device), reversed);
}

Values upload(const OpCase& row, const std::vector<Array>& drawn, DType dtype, const Device& device,
              bool in_strides = false) {
  Values values;
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    const DType own = dtype_of_operand(row.operands[i], dtype);
    values.push_back(in_strides ? strided(drawn[i], own, device) : from_data(to_data(drawn[i], own), device));
  }
  return values;
}

Tolerance tolerance_of(DType dtype, double factor) {
  switch (dtype) {
    case DType::F64: return {1e-9 * factor, 1e-9 * factor};
    case DType::F16: return {4e-3 * factor, 4e-3 * factor};
    case DType::BF16: return {3e-2 * factor, 3e-2 * factor};
    default: return {2e-5 * factor, 2e-5 * factor};
  }
}

void expect_close(const OpCase& row, const std::string& what, const Value& actual, const Array& expected,
                  Tolerance tolerance) {
  const TensorData data = actual.data();
  const std::string report = difference(data, to_data(expected, data.dtype()), tolerance);
  std::string shapes;
  for (const OperandSpec& operand : row.operands) shapes += text(" ", operand.shape);
  EXPECT_EQ(report, "") << row.name << shapes << ", " << what;
}

void expect_values(const OpCase& row, const std::string& what, const Values& actual, const std::vector<Array>& expected,
                   Tolerance tolerance) {
  ASSERT_EQ(actual.size(), expected.size()) << row.name;
  for (std::size_t i = 0; i < actual.size(); ++i) expect_close(row, what, actual[i], expected[i], tolerance);
}

// ---- finite differences of the meaning -----------------------------------------------------------------------------

/// One fixed direction for each float result: the loss is the sum of their products.
std::vector<Array> directions(const std::vector<Array>& results, std::uint64_t seed) {
  Random random(seed);
  std::vector<Array> arrays = results;
  for (Array& array : arrays)
    for (double& value : array.v) value = random.uniform(-1, 1);
  return arrays;
}

double loss(const OpCase& row, const std::vector<Array>& at, const std::vector<Array>& direction,
            const Values& results) {
  double total = 0;
  const std::vector<Array> meaning = row.meaning(at);
  for (std::size_t i = 0; i < meaning.size(); ++i)
    if (is_float(results[i].dtype()))
      for (std::size_t j = 0; j < meaning[i].v.size(); ++j) total += meaning[i].v[j] * direction[i].v[j];
  return total;
}

std::vector<Array> moved(std::vector<Array> at, const std::vector<Array>& along, double by, std::size_t operand,
                         std::size_t element, double step) {
  for (std::size_t i = 0; i < at.size(); ++i)
    for (std::size_t j = 0; j < at[i].v.size(); ++j) at[i].v[j] += along[i].v[j] * by;
  at[operand].v[element] += step;
  return at;
}

Value weighted_sum(const Values& results, const std::vector<Array>& direction) {
  Value total;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!is_float(results[i].dtype())) continue;
    const Value part = sum(results[i] * from_data(to_data(direction[i], results[i].dtype()), results[i].device()));
    total = total ? total + part : part;
  }
  return total;
}

Values tracked(const OpCase& row, Values values) {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (row.operands[i].kind == OperandSpec::Real) values[i] = values[i].require_grad();
  return values;
}

class OpRow : public testing::TestWithParam<OpCase> {};

TEST_P(OpRow, HasTheValuesOfItsMeaning) {
  const OpCase& row = GetParam();
  for (const auto& [name, device] : devices_under_test())
    for (const DType dtype : {DType::F32, DType::F64, DType::F16, DType::BF16}) {
      if (size_of(dtype) == 2 && !row.halves) continue;
      const std::vector<Array> drawn = rounded(row, draw(row), dtype);
      const std::vector<Array> expected = row.meaning(drawn);
      const std::string what = text(name, " ", dtype);
      expect_values(row, what, row.function(upload(row, drawn, dtype, device)), expected,
                    tolerance_of(dtype, row.tolerance));
      expect_values(row, what + ", strided operands", row.function(upload(row, drawn, dtype, device, true)), expected,
                    tolerance_of(dtype, row.tolerance));
    }
}

/// Whether results and gradients are the same bits with these threads; `grain` cuts what is small too.
std::vector<TensorData> computed(const OpCase& row, DType dtype, int threads, std::int64_t grain) {
  set_num_threads(threads);
  limit_grain(grain);
  const Values operands = operands_of(row, dtype, row.gradient ? Device::cpu().autodiff() : Device::cpu());
  Values all = row.function(operands);
  if (row.gradient) {
    const Gradients gradients = backward(weighted_sum(all, directions(row.meaning(draw(row)), 1)));
    for (const Value& operand : operands)
      if (operand.tracked())
        if (const auto found = gradients.find(operand)) all.push_back(*found);
  }
  std::vector<TensorData> data;
  for (const Value& value : all) data.push_back(value.data());
  return data;
}

TEST_P(OpRow, HasTheSameBitsOnAnyNumberOfThreads) {
  const OpCase& row = GetParam();
  const int before = num_threads();
  for (const DType dtype : {DType::F32, DType::F64, DType::BF16}) {
    if (size_of(dtype) == 2 && !row.halves) continue;
    const std::vector<TensorData> whole = computed(row, dtype, 1, 0);
    for (const std::int64_t grain : {1, 7}) {
      const std::vector<TensorData> alone = computed(row, dtype, 1, grain);
      ASSERT_EQ(alone.size(), whole.size());
      // Sums of other pieces are rounded in other places.
      const Tolerance tolerance = tolerance_of(dtype, 10 * row.tolerance);
      for (std::size_t i = 0; i < whole.size(); ++i)
        EXPECT_EQ(difference(alone[i], whole[i], tolerance), "")
            << text(row.name, " ", dtype) << ", result or gradient " << i << " in pieces of " << grain;
      for (const int threads : {2, 3, 7}) {
        if (dtype != DType::F32 && threads != 3) continue;
        const std::vector<TensorData> shared = computed(row, dtype, threads, grain);
        for (std::size_t i = 0; i < whole.size(); ++i)
          EXPECT_TRUE(std::ranges::equal(shared[i].bytes(), alone[i].bytes()))
              << text(row.name, " ", dtype) << ", result or gradient " << i << " with " << threads
              << " threads in pieces of " << grain;
      }
    }
  }
  limit_grain(0);
  set_num_threads(before);
}

TEST_P(OpRow, HasTheGradientOfItsMeaning) {
  const OpCase& row = GetParam();
  if (!row.gradient) return;
  const std::vector<Array> drawn = draw(row);
  const std::vector<Array> direction = directions(row.meaning(drawn), 1);
  std::vector<Array> still = drawn;
  for (Array& array : still) std::fill(array.v.begin(), array.v.end(), 0);
  const double h = 1e-5;

  for (const auto& [name, device] : devices_under_test())
    for (const DType dtype : {DType::F64, DType::F32}) {
      const Values operands = tracked(row, upload(row, drawn, dtype, device.autodiff()));
      const Values results = row.function(operands);
      const Gradients gradients = backward(weighted_sum(results, direction));
      for (std::size_t i = 0; i < operands.size(); ++i) {
        if (row.operands[i].kind != OperandSpec::Real) continue;
        Array expected(drawn[i].shape);
        for (std::size_t j = 0; j < expected.v.size(); ++j)
          expected.v[j] = (loss(row, moved(drawn, still, 0, i, j, h), direction, results) -
                           loss(row, moved(drawn, still, 0, i, j, -h), direction, results)) /
                          (2 * h);
        const Value found = gradients.find(operands[i]).value_or(zeros_like(operands[i]));
        EXPECT_FALSE(found.tracked()) << row.name;
        expect_close(row, text("gradient of operand ", i, ", ", name, " ", dtype), found, expected,
                     dtype == DType::F64 ? Tolerance{1e-6 * row.tolerance, 1e-7 * row.tolerance}
                                         : Tolerance{2e-4 * row.tolerance, 2e-4 * row.tolerance});
      }
    }
}

// The gradient of (gradient . v) is the Hessian times v: a second difference of the meaning.
TEST_P(OpRow, HasTheSecondOrderGradientOfItsMeaning) {
  const OpCase& row = GetParam();
  if (!row.gradient) return;
  const std::vector<Array> drawn = draw(row);
  const std::vector<Array> direction = directions(row.meaning(drawn), 2);
  std::vector<Array> v = directions(drawn, 3);
  for (std::size_t i = 0; i < v.size(); ++i)
    if (row.operands[i].kind != OperandSpec::Real) std::fill(v[i].v.begin(), v[i].v.end(), 0);
  const double h = 2e-4;

  const Device device = Device::cpu().autodiff();
  const Values operands = tracked(row, upload(row, drawn, DType::F64, device));
  const Values results = row.function(operands);
  Values wrt;
  std::vector<std::size_t> which;
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (operands[i].tracked()) wrt.push_back(operands[i]), which.push_back(i);
  const Values first = grad(weighted_sum(results, direction), wrt, {.create_graph = true});
  Value product = full({}, 0.0, device, DType::F64);
  for (std::size_t k = 0; k < wrt.size(); ++k)
    product = product + sum(first[k] * from_data(to_data(v[which[k]], DType::F64), device));
  const Values second = product.tracked() ? grad(product, wrt) : Values{};
  for (std::size_t k = 0; k < wrt.size(); ++k) {
    const std::size_t i = which[k];
    Array expected(drawn[i].shape);
    for (std::size_t j = 0; j < expected.v.size(); ++j) {
      const auto f = [&](double sv, double se) {
        return loss(row, moved(drawn, v, sv * h, i, j, se * h), direction, results);
      };
      expected.v[j] = (f(1, 1) - f(1, -1) - f(-1, 1) + f(-1, -1)) / (4 * h * h);
    }
    const Value found = second.empty() ? zeros_like(wrt[k]) : second[k];
    expect_close(row, text("second-order gradient of operand ", i), found, expected,
                 {2e-3 * row.tolerance, 1e-3 * row.tolerance});
  }
}

TEST_P(OpRow, MeansTheSameOnTheOtherSideOfAWire) {
  const OpCase& row = GetParam();
  const Device device(make_ref<Courier>(Device::cpu()), true);
  const Values results = row.function(operands_of(row, DType::F32, device));
  const std::vector<Array> expected = row.meaning(rounded(row, draw(row), DType::F32));
  expect_values(row, "sent and run", results, expected, tolerance_of(DType::F32, row.tolerance));
  if (row.gradient && results[0].tracked()) backward(weighted_sum(results, directions(expected, 1)));
}

INSTANTIATE_TEST_SUITE_P(Rows, OpRow, testing::ValuesIn(all_rows()),
                         [](const testing::TestParamInfo<OpCase>& info) { return info.param.name; });

// ---- nothing is left out -------------------------------------------------------------------------------------------

TEST(OpTable, HasARowForEveryOpAndEveryFunction) {
  std::set<std::string> seen;
  const Device spy = spying_device([&](const op::Op& op, Call) { seen.insert(std::string(op::function_name(op))); });
  for (const OpCase& row : all_rows()) {
    const Values results = row.function(operands_of(row, DType::F32, spy));
    if (row.gradient && results[0].tracked()) backward(results[0]);
  }
  for (const std::string& name : functions_of_the_table()) EXPECT_TRUE(seen.contains(name)) << "no row runs " << name;
}

/// Kernels without threads: their work is small, or another op's, or a library's, or that of whoever carries bytes.
std::set<std::string> never_cut() {
  std::set<std::string> names = {"all_gather", "arange", "broadcast", "expand", "permute", "slice", "unfold"};
  if (!cpu::lapack_kernels) names.merge(std::set<std::string>{"cholesky", "eigh", "qr", "svd"});
  return names;
}

TEST(OpTable, CutsTheWorkOfEveryKernel) {
  std::set<std::string> seen, cut;
  std::string last;
  std::int64_t regions = 0;
  const auto look = [&](std::string next) {
    Device::cpu().sync();  // what was asked for runs
    if (!last.empty() && parallel_region_count() > regions) cut.insert(last);
    regions = parallel_region_count();
    last = std::move(next);
  };
  const Device spy = spying_device([&](const op::Op& op, Call) {
    look(std::string(op::function_name(op)));
    seen.insert(last);
  });
  limit_grain(1);
  std::int64_t rows = 0, cut_rows = 0;
  for (const OpCase& row : all_rows()) {
    const std::int64_t start = parallel_region_count();
    for (const DType dtype : {DType::F32, DType::BF16}) {
      if (size_of(dtype) == 2 && !row.halves) continue;
      const Values results = row.function(operands_of(row, dtype, spy));
      std::optional<Gradients> seen_by_somebody;  // or they would not be computed
      if (row.gradient && results[0].tracked()) seen_by_somebody = backward(results[0]);
      look("");
    }
    ++rows;
    cut_rows += parallel_region_count() > start;
  }
  limit_grain(0);
  std::set<std::string> never;
  std::set_difference(seen.begin(), seen.end(), cut.begin(), cut.end(), std::inserter(never, never.end()));
  EXPECT_EQ(never, never_cut());
  EXPECT_GT(cut_rows, rows * 8 / 10) << "of " << rows << " rows";
}

template <class... Ts>
std::set<std::string> struct_names(const std::variant<Ts...>*) {
  return {std::string(Ts::kName)...};
}

}  // namespace

Values operands_of(const OpCase& row, DType dtype, const Device& device) {
  Values values = upload(row, draw(row), dtype, device);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i].node()->device = device;  // a decorator leaves uploads to the device that it wraps
    if (row.gradient && row.operands[i].kind == OperandSpec::Real && is_float(values[i].dtype()) &&
        device.is_autodiff())
      values[i] = values[i].require_grad();
  }
  return values;
}

namespace {

/// Sees composite ops whole.
class Spy final : public Forwarding {
 public:
  explicit Spy(std::function<void(const op::Op&, Call)> note) : note_(std::move(note)) {}
  std::string name() const override { return "spy"; }
  void run(const op::Op& op, Call call) override {
    note_(op, call);
    inner_->run(op, call);
  }
  bool has_kernel(const op::Op&) const override { return true; }

 private:
  std::function<void(const op::Op&, Call)> note_;
};

}  // namespace

Device spying_device(std::function<void(const op::Op&, Call)> note) {
  return Device(make_ref<Spy>(std::move(note)), true);
}

std::set<std::string> functions_of_the_table() {
  std::set<std::string> names = struct_names(static_cast<const op::Op::Alternatives*>(nullptr));
  for (const char* family : {"unary", "binary", "special", "reduce", "arg_reduce", "scan", "custom", "fused",
                             "epilogue", "row_blocked", "row_fused", "horizontal"})
    names.erase(family);
  for (const auto& [fn, name] : reflect::enumerators<op::UnaryFn>()) names.emplace(name);
  for (const auto& [fn, name] : reflect::enumerators<op::BinaryFn>()) names.emplace(name);
#define KILN_SPECIAL_OF_1(Name, function, ...) names.insert(#function);
#define KILN_SPECIAL_OF_2(Name, function, ...) names.insert(#function);
#define KILN_SPECIAL_OF_3(Name, function, ...) names.insert(#function);
#include "kiln/ops/special/special.def"
  for (const char* reduction : {"sum", "mean", "prod", "max", "min", "any", "all", "argmax", "argmin"})
    names.insert(reduction);
  for (const char* scan : {"cumsum", "cumprod", "cummax", "cummin", "logcumsumexp"}) names.insert(scan);
  return names;
}

}  // namespace kiln::test

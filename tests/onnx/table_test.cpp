#include "kiln/onnx/table.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "kiln/core/file.hpp"
#include "kiln/onnx/apply.hpp"

namespace kiln::onnx {
namespace {

TEST(Table, ARowHoldsInItsVersions) {
  EXPECT_NE(find_row("", "Relu", 1), nullptr);
  EXPECT_NE(find_row("", "Upsample", 9), nullptr);
  EXPECT_EQ(find_row("", "Upsample", 10), nullptr);
  EXPECT_EQ(find_row("", "Gelu", 19), nullptr);
  EXPECT_NE(find_row("", "Gelu", 20), nullptr);
  EXPECT_NE(find_row("ai.onnx.ml", "Scaler", 1), nullptr);
  EXPECT_EQ(find_row("", "Scaler", 1), nullptr);
}

TEST(Table, RowsOfOneOperatorDoNotOverlap) {
  for (const Family& family : families())
    for (const OperatorRow& row : family.rows)
      for (int version = 1; version <= newest_version(family.domain); ++version) {
        const bool inside = row.since <= version && version <= row.traits.until;
        if (inside) { EXPECT_EQ(find_row(family.domain, row.name, version), &row) << row.name << ' ' << version; }
      }
}

// ---- what rows say of operators, and what these do ----------------------------------------------------------------
Value list(const std::vector<double>& numbers, const Shape& shape, DType type) {
  return cast(
      reshape(from_data(TensorData::of<double>({static_cast<std::int64_t>(numbers.size())}, numbers), Device::cpu()),
              shape),
      type);
}
// The first element type that the operator takes, of what its kind is tried with.
DType type_of(const OperatorRow& row) {
  op::Domain domain = op::Domain::Float;
  if (const auto* const fn = std::get_if<op::UnaryFn>(&row.traits.function.fn)) domain = op::domain(*fn);
  if (const auto* const fn = std::get_if<op::BinaryFn>(&row.traits.function.fn)) domain = op::domain(*fn);
  if (row.name == "BitShift") return DType::U8;
  return domain == op::Domain::Bool ? DType::Bool : domain == op::Domain::Integer ? DType::I64 : DType::F32;
}
Value called(const OperatorRow& row, const Values& in) {
  std::vector<Datum> data(in.begin(), in.end());
  const int version = std::min(row.traits.until, kNewestOpset);
  if (row.name == "Cast") return apply(row.name, version, data, {{"to", 7}}).datum.value();
  if (row.name == "BitShift") return apply(row.name, version, data, {{"direction", "LEFT"}}).datum.value();
  return apply(row.name, version, data).datum.value();
}
std::vector<double> numbers_of(const Value& x) { return cast(x, DType::F64).data().to_vector<double>(); }
template <class F>
int each_row(OperatorKind kind, F&& f) {
  int count = 0;
  for (const Family& family : families())
    for (const OperatorRow& row : family.rows)
      if (family.domain.empty() && row.traits.kind == kind) {
        SCOPED_TRACE(row.name);
        f(row);
        ++count;
      }
  return count;
}

TEST(Table, ElementwiseOperatorsTreatElementsAlike) {
  const int count = each_row(OperatorKind::Elementwise, [](const OperatorRow& row) {
    const Value x = list({-2, -0.7, 0, 0.4, 0.9, 3}, {2, 3}, type_of(row));
    const Value y = called(row, {x}), moved = called(row, {flip(transpose(x), {0})});
    EXPECT_EQ(y.shape(), x.shape());
    const std::vector<double> expected = numbers_of(flip(transpose(y), {0})), got = numbers_of(moved);
    for (std::size_t i = 0; i < got.size(); ++i)
      EXPECT_TRUE(got[i] == expected[i] || (std::isnan(got[i]) && std::isnan(expected[i])))
          << got[i] << ' ' << expected[i];
  });
  EXPECT_GT(count, 40);
}

TEST(Table, BroadcastingOperatorsBroadcast) {
  const int count = each_row(OperatorKind::Broadcasting, [](const OperatorRow& row) {
    Values in{list({1, 5}, {2, 1}, type_of(row)), list({2, 3, 7}, {3}, type_of(row))};
    if (row.name == "Where") in.insert(in.begin(), list({1, 0, 1}, {3}, DType::Bool));
    Values whole;
    for (const Value& x : in) whole.push_back(expand(x, {2, 3}));
    const Value y = called(row, in);
    EXPECT_EQ(y.shape(), Shape({2, 3}));
    EXPECT_EQ(numbers_of(y), numbers_of(called(row, whole)));
  });
  EXPECT_GT(count, 20);
}

TEST(Table, ReductionsFoldTheAxesThatAreGiven) {
  const int count = each_row(OperatorKind::Reduction, [](const OperatorRow& row) {
    const Value x = list({1, 2, 3, 4, 5, 6}, {1, 2, 3}, DType::F32);
    const Value axes = from_data(TensorData::of<std::int64_t>({1}, {2}), Device::cpu());
    EXPECT_EQ(called(row, {x, axes}).shape(), Shape({1, 2, 1}));
  });
  EXPECT_EQ(count, 10);
}

TEST(Table, OperatorsAreTheFunctionsThatTheirRowsName) {
  int count = 0;
  for (const Family& family : families())
    for (const OperatorRow& row : family.rows) {
      SCOPED_TRACE(row.name);
      const KilnFunction& function = row.traits.function;
      if (function.fn.index() == 0) continue;
      ++count;
      EXPECT_EQ(find_row(function.fn, std::min(row.traits.until, kNewestOpset)), &row);
      const DType type = type_of(row);
      for (const double a : {-1.5, -0.25, 0.0, 0.75, 4.0}) {
        const double x = type == DType::F32 ? a : std::trunc(a), second = type == DType::Bool ? 1 : 3;
        Values in{list({x}, {1}, type)};
        double expected = x;  // of a reduction over one element
        if (const auto* const fn = std::get_if<op::ReduceFn>(&function.fn); fn && *fn == op::ReduceFn::Length)
          expected = std::abs(x);
        if (const auto* const fn = std::get_if<op::UnaryFn>(&function.fn))
          expected = op::evaluate(*fn, in[0].dtype() == DType::I64 ? Scalar(static_cast<std::int64_t>(x)) : Scalar(x))
                         .to<double>();
        if (const auto* const fn = std::get_if<op::BinaryFn>(&function.fn)) {
          const double y = function.attribute.empty() ? second : function.otherwise;
          if (function.attribute.empty()) in.push_back(list({y}, {1}, type));
          expected = type == DType::I64
                         ? op::evaluate(*fn, static_cast<std::int64_t>(x), static_cast<std::int64_t>(y)).to<double>()
                         : op::evaluate(*fn, x, y).to<double>();
        }
        const double got = numbers_of(called(row, in)).at(0);
        EXPECT_TRUE(std::abs(got - expected) <= 1e-5 * std::max(1.0, std::abs(expected)) || got == expected ||
                    (std::isnan(got) && std::isnan(expected)))
            << "of " << x << ": " << got << ", not " << expected;
      }
    }
  EXPECT_GT(count, 60);
}

TEST(Table, TheDocumentationListsWhatThereIs) {
  const std::string page = read_text_file(std::string(KILN_SOURCE_DIR) + "/docs/onnx.md");
  const std::size_t from = page.find("| operator | domain |");
  ASSERT_NE(from, page.npos);
  EXPECT_EQ(page.substr(from), operator_table()) << "bin/onnx_backend_tests --table writes it";
}

}  // namespace
}  // namespace kiln::onnx

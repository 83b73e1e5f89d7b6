// Every row of tests/ops/ on operands without elements: what has a gradient stays in the graph, and gives gradients of
// the operands' shapes.
#include <gtest/gtest.h>

#include <set>

#include "kiln/autodiff/backward.hpp"
#include "kiln/ops/index/embedding.hpp"
#include "kiln/ops/view/assemble.hpp"
#include "kiln/ops/view/diagonal.hpp"
#include "tests/ops/harness.hpp"
#include "tests/ops/unread.hpp"

namespace kiln::test {
namespace {

/// The row's operands with some of their dimensions emptied, tracked; those without elements are zeros.
Values emptied(const OpCase& row, const std::function<bool(std::size_t operand, int dim, std::int64_t size)>& empties,
               const Device& device) {
  Values values;
  for (std::size_t i = 0; i < row.operands.size(); ++i) {
    const OperandSpec& operand = row.operands[i];
    Shape shape = operand.shape;
    for (int dim = 0; dim < shape.size(); ++dim)
      if (empties(i, dim, shape[dim])) shape[dim] = 0;
    const DType dtype = operand.kind == OperandSpec::Index  ? DType::I64
                        : operand.kind == OperandSpec::Flag ? DType::Bool
                                                            : DType::F32;
    values.push_back(
        full(shape, operand.kind == OperandSpec::Real ? (operand.low + operand.high) / 2 : operand.low, device, dtype));
    if (operand.kind == OperandSpec::Real) values.back() = values.back().require_grad();
  }
  return values;
}

/// Whether the row took these operands; if so, those of its results that are of the graph otherwise (`tracked`) must
/// be.
bool stays_in_the_graph(const OpCase& row, const std::vector<bool>& tracked, const Values& operands) {
  Values results;
  try {
    results = row.function(operands);
    for (const Value& result : results) (void)result.data();
  } catch (const Error&) {
    hear_of_unread_failures();
    return false;
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(results[i].tracked(), tracked[i]) << row.name << ", result " << i;
    if (!results[i].tracked()) continue;
    try {
      const Gradients gradients = backward(sum(results[i]));
      for (const Value& operand : operands)
        EXPECT_EQ(gradients.find(operand).value_or(operand).shape(), operand.shape()) << row.name;
    } catch (const AutodiffError&) {}  // says that there is none
  }
  return true;
}

TEST(Empty, OperandsOfEveryDifferentiableRowStayInTheGraph) {
  const Device device = Device::cpu().autodiff();
  int taken = 0;
  for (const OpCase& row : all_rows()) {
    if (!row.gradient) continue;
    std::vector<bool> tracked;
    for (const Value& result : row.function(operands_of(row, DType::F32, device))) tracked.push_back(result.tracked());
    // All dimensions of one size, as they belong together; and each dimension by itself.
    std::set<std::int64_t> sizes;
    for (const OperandSpec& operand : row.operands) sizes.insert(operand.shape.begin(), operand.shape.end());
    for (const std::int64_t emptied_size : sizes)
      taken += stays_in_the_graph(
          row, tracked,
          emptied(row, [&](std::size_t, int, std::int64_t size) { return size == emptied_size; }, device));
    for (std::size_t i = 0; i < row.operands.size(); ++i)
      for (int dim = 0; dim < row.operands[i].shape.size(); ++dim)
        taken += stays_in_the_graph(
            row, tracked,
            emptied(row, [&](std::size_t at, int d, std::int64_t) { return at == i && d == dim; }, device));
  }
  EXPECT_GE(taken, 1000) << "so few rows take operands without elements that this says little";
}

TEST(Empty, OperandsOfShapesThatGrowStayInTheGraph) {
  const Device device = Device::cpu().autodiff();
  const auto expect_zeros = [](const Value& x, const Value& result, const Shape& shape, const char* what) {
    ASSERT_EQ(result.shape(), shape) << what;
    ASSERT_TRUE(result.tracked()) << what;
    EXPECT_EQ(backward(sum(result)).of(x).shape(), x.shape()) << what;
  };
  const Value x = zeros({0, 3}, device).require_grad(), line = zeros({0}, device).require_grad(),
              table = ones({4, 2}, device).require_grad();
  const Value padded = pad(x, {0, 1}, {2, 1}, 1.5);
  expect_zeros(x, padded, {2, 5}, "pad");
  EXPECT_EQ(all(eq(padded, 1.5)).item(), 1);
  expect_zeros(line, combinations(line, 2), {0, 2}, "combinations");
  expect_zeros(line, diag_embed(line, 2), {2, 2}, "diag_embed");
  const Value none = zeros({0}, device, DType::I64);
  expect_zeros(table, embedding_bag(table, none, none, {}), {0, 2}, "embedding_bag");
}

}  // namespace
}  // namespace kiln::test

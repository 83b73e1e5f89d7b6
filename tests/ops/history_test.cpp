// No result depends on what ran before. Kernels keep what they have made of their operands; so every row runs many
// times on the same ones, forwards and backwards in turn and beside other rows, and gives the bits of its first time.
#include <gtest/gtest.h>

#include <map>

#include "kiln/core/random.hpp"
#include "tests/ops/harness.hpp"
#include "tests/ops/passes.hpp"

namespace kiln::test {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

std::vector<DType> types_of(const OpCase& row) {
  if (!row.halves) return {DType::F32};
  return {DType::F32, DType::BF16, DType::F16};
}

class OpHistory : public testing::TestWithParam<OpCase> {};

TEST_P(OpHistory, DoesNotShow) {
  const OpCase& row = GetParam();
  const Device device = Device::cpu().autodiff();
  for (const DType dtype : types_of(row)) {
    std::map<char, Bits> first;
    for (const char pass : std::string_view("fbd")) {
      const Values operands = operands_of(row, dtype, device);
      soil(operands, 7);
      first[pass] = run_pass(pass, row.function, operands);
    }
    const Values operands = operands_of(row, dtype, device);
    const std::string_view passes = row.gradient ? "fbfdbbfdf" : "fff";
    for (std::size_t i = 0; i < passes.size(); ++i) {
      soil(operands, kNan);
      EXPECT_TRUE(same_bits(run_pass(passes[i], row.function, operands), first[passes[i]]))
          << text(dtype) << ", pass " << i << " of " << passes;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, OpHistory, testing::ValuesIn(all_rows()),
                         [](const testing::TestParamInfo<OpCase>& info) { return info.param.name; });

// Rows that take the same operands run on the same ones, one after the other.
TEST(OpHistories, OfRowsThatShareOperandsDoNotShow) {
  std::map<std::string, std::vector<OpCase>> groups;
  for (OpCase& row : all_rows()) {
    std::string operands = text(row.gradient, row.halves);
    for (const OperandSpec& operand : row.operands)
      operands += text(" ", operand.shape, operand.low, operand.high, static_cast<int>(operand.kind));
    groups[operands].push_back(std::move(row));
  }
  const Device device = Device::cpu().autodiff();
  int shared = 0;
  for (const auto& [name, rows] : groups) {
    if (rows.size() < 2) continue;
    shared += static_cast<int>(rows.size());
    for (const DType dtype : types_of(rows[0])) {
      std::vector<std::map<char, Bits>> first(rows.size());
      for (std::size_t i = 0; i < rows.size(); ++i)
        for (const char pass : std::string_view("fb"))
          first[i][pass] = run_pass(pass, rows[i].function, operands_of(rows[0], dtype, device));
      const Values operands = operands_of(rows[0], dtype, device);
      for (int round = 0; round < 4; ++round)
        for (std::size_t step = 0; step < rows.size(); ++step) {
          const std::size_t i = round % 2 ? rows.size() - 1 - step : step;
          const char pass = (round / 2 + step) % 2 ? 'f' : 'b';
          EXPECT_TRUE(same_bits(run_pass(pass, rows[i].function, operands), first[i][pass]))
              << rows[i].name << text(" ", dtype) << ", round " << round << ", pass " << pass;
        }
    }
  }
  EXPECT_GE(shared, 500);
}

}  // namespace
}  // namespace kiln::test

// How much of an optimizer's step runs by itself: all small parameters go through an elementwise rule in one call, and
// a large one in a call of its own.
#include <gtest/gtest.h>

#include "kiln/optim.hpp"
#include "tests/fusion/fused_device.hpp"
#include "tests/optim/rows.hpp"

namespace kiln {
namespace {

struct Net {
  nn::Param<2> large, small;
  nn::Param<1> scale, bias;
  nn::Param<2> other;
};

int calls_of_a_step(const AnyRule& rule, std::int64_t side) {
  const test::FusedDevice fused;
  const auto made = [&](const Shape& shape) { return fused.of(shape); };
  Net net{nn::Param<2>(made({side, side})), nn::Param<2>(made({3, 5})), nn::Param<1>(made({5})),
          nn::Param<1>(made({7})), nn::Param<2>(made({side, side}))};
  AnyOptimizer optimizer(rule, net);
  GradientsParams grads;
  visit_params(net, [&](const std::string& path, const auto& param) { grads.by_path[path] = made(param.shape()); });
  fused.device.sync();
  // Past those first steps of RAdam that do not look at the second moment.
  for (int i = 0; i < 8; ++i) net = optimizer.step(0.1, std::move(net), grads);
  fused.device.sync();
  const int before = fused.counter->runs;
  net = optimizer.step(0.1, std::move(net), grads);
  fused.device.sync();
  return fused.counter->runs - before;
}

std::vector<RuleRow> elementwise_rows() {
  std::vector<RuleRow> rows;
  for (const RuleRow& row : rule_rows()) {
    const std::string_view name = row.rule.name();
    const bool whole =
        name == "Lamb" || name == "Adafactor" || name == "Muon" || name == "Soap";  // want norms, products
    if (!whole && row.label != "adamw_cautious") rows.push_back(row);
  }
  return rows;
}

class Passes : public testing::TestWithParam<RuleRow> {};

TEST_P(Passes, AreOneForAllSmallParameters) { EXPECT_EQ(calls_of_a_step(GetParam().rule, 20), 1); }

TEST_P(Passes, AreOneForEachLargeParameter) { EXPECT_EQ(calls_of_a_step(GetParam().rule, 200), 3); }

INSTANTIATE_TEST_SUITE_P(All, Passes, testing::ValuesIn(elementwise_rows()),
                         [](const auto& info) { return info.param.label; });

}  // namespace
}  // namespace kiln

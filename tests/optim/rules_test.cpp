// What holds of every rule, for each row of rows.cpp: it follows its paper's formula and PyTorch's figures, learns,
// goes on from a record as if nothing had been, keeps masters of halves, and does with odd parameters what it should.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "kiln/optim.hpp"
#include "tests/optim/rows.hpp"
#include "tests/support/devices.hpp"

namespace kiln {
namespace {

using test::autodiff;

struct Net {
  nn::Param<2> wide;  // [2, 3]
  nn::Param<2> tall;  // [3, 2]
  nn::Param<1> bias;  // [3]; absent for rules that take matrices alone
};
const Shape kShapes[] = {{2, 3}, {3, 2}, {3}};
const std::string kPaths[] = {"wide", "tall", "bias"};

std::size_t count(const RuleRow& row) { return row.matrices_only ? 2 : 3; }

std::vector<double> start(std::size_t k) {
  std::vector<double> x;
  for (std::int64_t i = 0; i < numel(kShapes[k]); ++i)
    x.push_back(std::cos(1.7 * static_cast<double>(i) + static_cast<double>(k)));
  return x;
}
Value tensor(std::size_t k, const std::vector<double>& numbers, DType dtype, const Device& where = autodiff) {
  return cast(from_data(TensorData::of<double>(kShapes[k], numbers), where), dtype);
}
Net make_net(const RuleRow& row, DType dtype, const Device& where = autodiff) {
  Net net{nn::Param<2>(tensor(0, start(0), dtype, where)), nn::Param<2>(tensor(1, start(1), dtype, where)), {}};
  if (!row.matrices_only) net.bias = nn::Param<1>(tensor(2, start(2), dtype, where));
  return net;
}
std::map<std::string, std::vector<double>> numbers(const Net& net) {
  std::map<std::string, std::vector<double>> all;
  visit_params(net,
               [&](const std::string& path, const auto& param) { all[path] = param.template to_vector<double>(); });
  return all;
}

/// What torch_figures.py has: depends on the element, on its place and on the step t, from 1.
double gradient(double x, std::size_t k, std::size_t i, int t) {
  return 0.5 * x + std::sin(1.3 * t + 2.1 * static_cast<double>(i) + static_cast<double>(k)) + 0.1;
}
GradientsParams gradients(const Net& net, int t, DType dtype, const Device& where = autodiff) {
  GradientsParams grads;
  const auto all = numbers(net);
  for (std::size_t k = 0; k < 3; ++k) {
    const auto x = all.find(kPaths[k]);
    if (x == all.end()) continue;
    std::vector<double> g;
    for (std::size_t i = 0; i < x->second.size(); ++i) g.push_back(gradient(x->second[i], k, i, t));
    grads.by_path[kPaths[k]] = tensor(k, g, dtype, where);
  }
  return grads;
}

class Rules : public testing::TestWithParam<RuleRow> {};

TEST_P(Rules, FollowTheirFormulaFor50Steps) {
  const RuleRow& row = GetParam();
  Net net = make_net(row, DType::F64);
  AnyOptimizer optimizer(row.rule, net);
  std::vector<references::Numbers> expected;
  std::vector<references::Step> steps;
  for (std::size_t k = 0; k < count(row); ++k) {
    const bool matrix = kShapes[k].size() == 2;
    expected.push_back({start(k), static_cast<int>(kShapes[k][0]), matrix ? static_cast<int>(kShapes[k][1]) : 0});
    steps.push_back(row.reference());
  }
  for (int t = 1; t <= 50; ++t) {
    net = optimizer.step(row.rate, std::move(net), gradients(net, t, DType::F64));
    const auto found = numbers(net);
    for (std::size_t k = 0; k < count(row); ++k) {
      references::Numbers g = expected[k];
      for (std::size_t i = 0; i < g.size(); ++i) g.at[i] = gradient(expected[k].at[i], k, i, t);
      steps[k](expected[k], g, row.rate, t);
      for (std::size_t i = 0; i < g.size(); ++i)
        ASSERT_NEAR(found.at(kPaths[k])[i], expected[k].at[i], 1e-9) << kPaths[k] << '[' << i << "], step " << t;
    }
  }
}

TEST_P(Rules, Learn) {
  const RuleRow& row = GetParam();
  Net net = make_net(row, DType::F32);
  AnyOptimizer optimizer(row.rule, net);
  const auto loss_of = [](const Net& n) {
    Tensor<0> loss = (n.wide - 0.1).square().sum() + (n.tall + 0.2).square().sum();
    return n.bias.empty() ? loss : loss + n.bias.square().sum();
  };
  const double before = loss_of(net).item();
  for (int t = 0; t < 300; ++t) net = optimizer.step(row.rate, std::move(net), value_and_grad(net, loss_of).grads);
  EXPECT_LT(loss_of(optimizer.averaged(net)).item(), 0.12 * before);
}

using Record = std::map<std::string, TensorData>;
Record record_of(const AnyOptimizer& optimizer) {
  Record record;
  optimizer.visit_state([&](const std::string& name, const auto& part) { record[name] = Value(part).data(); });
  return record;
}
void restore(AnyOptimizer& optimizer, const Record& record, const Device& where = autodiff) {
  optimizer.visit_state([&]<class P>(const std::string& name, P& part) {
    if constexpr (std::same_as<P, std::int64_t>) part = record.at(name).to_vector<std::int64_t>()[0];
    else part = from_data(record.at(name), where);
  });
}

void expect_goes_on(const RuleRow& row, DType dtype) {
  const auto train = [&](int first, int last, Net& net, AnyOptimizer& optimizer) {
    for (int t = first; t <= last; ++t) net = optimizer.step(row.rate, std::move(net), gradients(net, t, DType::F32));
  };
  Net whole = make_net(row, dtype), parts = whole;
  AnyOptimizer uninterrupted(row.rule, whole), first(row.rule, parts);
  train(1, 24, whole, uninterrupted);
  train(1, 11, parts, first);
  const Record record = record_of(first);
  AnyOptimizer second(row.rule, make_net(row, dtype));  // which has another state
  restore(second, record);
  train(12, 24, parts, second);
  EXPECT_EQ(numbers(parts), numbers(whole));
  EXPECT_EQ(numbers(second.averaged(parts)), numbers(uninterrupted.averaged(whole)));
}
TEST_P(Rules, GoOnFromARecordWithTheSameBits) {
  expect_goes_on(GetParam(), DType::F32);
  expect_goes_on(GetParam(), DType::BF16);
}

// bfloat16 numbers and gradients that are exact in float32 too: what a half's master goes through is what a float32
// parameter does.
TEST_P(Rules, UpdateAFloat32MasterOfHalves) {
  const RuleRow& row = GetParam();
  Net half = make_net(row, DType::BF16);
  Net full = map_params(half, [](const std::string&, const Value& value) { return cast(value.detach(), DType::F32); });
  AnyOptimizer of_half(row.rule, half), of_full(row.rule, full);
  const Net shape = full;
  for (int t = 1; t <= 20; ++t) {
    const GradientsParams grads = gradients(shape, t, DType::BF16);
    half = of_half.step(row.rate, std::move(half), grads);
    full = of_full.step(row.rate, std::move(full), grads);
  }
  const auto found = numbers(half), expected = numbers(full);
  for (const auto& [path, state] : of_half.states()) {
    EXPECT_EQ(state.master.data().to_vector<double>(), expected.at(path));
    for (std::size_t i = 0; i < expected.at(path).size(); ++i)
      EXPECT_EQ(found.at(path)[i], float(BF16(static_cast<float>(expected.at(path)[i]))));
  }
}

TEST_P(Rules, LeaveEmptyParametersAlone) {
  const RuleRow& row = GetParam();
  struct Empty {
    nn::Param<2> none, some;
  };
  Empty net{nn::Param<2>(zeros({0, 3}, autodiff)), nn::Param<2>(ones({2, 2}, autodiff))};
  AnyOptimizer optimizer(row.rule, net);
  GradientsParams grads;
  grads.by_path = {{"none", zeros({0, 3}, autodiff)}, {"some", ones({2, 2}, autodiff)}};
  for (int t = 0; t < 3; ++t) net = optimizer.step(row.rate, std::move(net), grads);
  EXPECT_EQ(net.none.shape(), Shape({0, 3}));
  EXPECT_LT(net.some.data().at(0), 1);
}

// A gradient that is no number is seen in its own parameter, and in no other.
TEST_P(Rules, ShowNaNWhereItCameFrom) {
  const RuleRow& row = GetParam();
  Net net = make_net(row, DType::F32);
  AnyOptimizer optimizer(row.rule, net);
  GradientsParams grads = gradients(net, 1, DType::F32);
  net = optimizer.step(row.rate, std::move(net), grads);
  grads.by_path["wide"] = grads.by_path["wide"] * std::nan("");
  Net next = optimizer.step(row.rate, net, grads);
  const auto found = numbers(next);
  EXPECT_TRUE(std::ranges::all_of(found.at("wide"), [](double x) { return std::isnan(x); }));
  EXPECT_TRUE(std::ranges::none_of(found.at("tall"), [](double x) { return std::isnan(x); }));
}

TEST_P(Rules, FollowTheirModelToAnotherDevice) {
  const RuleRow& row = GetParam();
  const Device other = Device::parse("reference").autodiff();
  Net net = make_net(row, DType::F64);
  AnyOptimizer optimizer(row.rule, net);
  net = optimizer.step(row.rate, std::move(net), gradients(net, 1, DType::F64));
  Net moved = to_device(net, other);
  AnyOptimizer there = optimizer.to_device(other);
  for (int t = 2; t <= 4; ++t) {
    net = optimizer.step(row.rate, std::move(net), gradients(net, t, DType::F64));
    moved = there.step(row.rate, std::move(moved), gradients(moved, t, DType::F64, other));
  }
  EXPECT_EQ(moved.wide.value().device().name(), other.name());
  const auto found = numbers(moved);
  for (const auto& [path, expected] : numbers(net))
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found.at(path)[i], expected[i], 1e-12) << path;
}

INSTANTIATE_TEST_SUITE_P(All, Rules, testing::ValuesIn(rule_rows()), [](const auto& info) { return info.param.label; });

class TorchRules : public testing::TestWithParam<RuleRow> {};

TEST_P(TorchRules, GetToTheSamePlaceIn50Steps) {
  const RuleRow& row = GetParam();
  for (const DType dtype : {DType::F64, DType::F32}) {
    Net net = make_net(row, dtype);
    AnyOptimizer optimizer(row.rule, net);
    for (int t = 1; t <= 50; ++t) net = optimizer.step(row.rate, std::move(net), gradients(net, t, dtype));
    std::vector<double> found;
    visit_params(net, [&](const std::string&, const auto& param) {
      for (const double x : param.template to_vector<double>()) found.push_back(x);
    });
    ASSERT_EQ(found.size(), row.torch.size());
    for (std::size_t i = 0; i < found.size(); ++i)
      EXPECT_NEAR(found[i], row.torch[i], dtype == DType::F64 ? 1e-9 : 1e-5) << i << " in " << text(dtype);
  }
}

std::vector<RuleRow> torch_rows() {
  std::vector<RuleRow> rows;
  for (const RuleRow& row : rule_rows())
    if (!row.torch.empty()) rows.push_back(row);
  return rows;
}
INSTANTIATE_TEST_SUITE_P(All, TorchRules, testing::ValuesIn(torch_rows()),
                         [](const auto& info) { return info.param.label; });

}  // namespace
}  // namespace kiln

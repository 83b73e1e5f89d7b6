// What is made of wrong data is wrong, whatever path it took, and the model and its optimizer stay as they were. With
// KILN_FUSION=0, when operations run at once, the same holds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <thread>

#include "kiln/autodiff/checkpoint.hpp"
#include "kiln/nn/gradients.hpp"
#include "kiln/nn/linear.hpp"
#include "kiln/nn/norm/norm.hpp"
#include "kiln/ops/create/create.hpp"
#include "kiln/ops/index/index.hpp"
#include "kiln/ops/linalg/linalg.hpp"
#include "kiln/ops/scope/autocast.hpp"
#include "kiln/ops/spatial/pool.hpp"
#include "kiln/optim.hpp"
#include "kiln/store/save.hpp"
#include "kiln/tensor/text/format.hpp"
#include "tests/support/devices.hpp"

namespace kiln {
namespace {

using std::int64_t;

/// Not a variable: devices are decorated while the program starts.
using test::autodiff;

Value indices(const std::vector<int64_t>& numbers) { return Tensor<1, Int>::of(numbers, autodiff).value(); }

/// An operation that checks its data, on x [3, 4], with data that are wrong or right.
struct Case {
  std::string name;
  Value (*of)(const Value& x, bool wrong);
};

Value rows(const Value& x, int64_t count) { return narrow(x, 0, 0, count); }
Value along(bool wrong) { return reshape(indices({0, 1, 2, wrong ? 9 : 2}), {1, 4}); }
Value slices(bool wrong) { return indices({2, wrong ? 7 : 0}); }
Value scattered(const Value& x, bool wrong, Update update) { return scatter(x, 0, along(wrong), rows(x, 1), update); }
Value square_matrix(const Value& x, bool wrong) {
  const Value a = transpose(rows(transpose(x), 3));
  return wrong ? a * 0.0 : matmul(a, transpose(a)) + eye({3, 3}, autodiff) * 100;
}

const Case kCases[] = {
    {"gather", [](const Value& x, bool wrong) { return gather(x, 0, along(wrong)); }},
    {"scatter_add", [](const Value& x, bool wrong) { return scattered(x, wrong, Update::Add); }},
    {"scatter_assign", [](const Value& x, bool wrong) { return scattered(x, wrong, Update::Assign); }},
    {"scatter_mul", [](const Value& x, bool wrong) { return scattered(x, wrong, Update::Mul); }},
    {"scatter_max", [](const Value& x, bool wrong) { return scattered(x, wrong, Update::Max); }},
    {"scatter_add of x to a base",
     [](const Value& x, bool wrong) { return scatter_add(ones({3, 4}, autodiff), 0, along(wrong), rows(x, 1)); }},
    {"select", [](const Value& x, bool wrong) { return select(x, 0, slices(wrong)); }},
    {"select_add", [](const Value& x, bool wrong) { return select_add(x, 0, slices(wrong), rows(x, 2)); }},
    {"select_assign", [](const Value& x, bool wrong) { return select_assign(x, 0, slices(wrong), rows(x, 2)); }},
    {"ravel_index",
     [](const Value& x, bool wrong) {
       const Value index = slices(wrong);
       return select(reshape(x, {12}), 0, ravel_index({&index, 1}, {3}));
     }},
    {"cross_entropy",
     [](const Value& x, bool wrong) { return cross_entropy_each(x, indices({0, wrong ? 1000 : 1, 3})); }},
    {"max_unpool",
     [](const Value& x, bool wrong) {
       return max_unpool(reshape(x, {3, 4, 1}),
                         reshape(indices({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, wrong ? 99 : 11}), {3, 4, 1}), {12});
     }},
    {"cholesky", [](const Value& x, bool wrong) { return cholesky(square_matrix(x, wrong)); }},
    {"inverse", [](const Value& x, bool wrong) { return inverse(square_matrix(x, wrong)); }},
};

/// The operation and something that never sees its data, so that gradients take several paths.
Value loss_of(const Case& each, const Value& x, const Value& w, bool wrong) {
  return sum(square(each.of(x, wrong))) + sum(w * 2) + sum(floor(w));
}

Value leaf(double first) {
  return (reshape(arange(0, 12, 1, autodiff, DType::F32), {3, 4}) * 0.1 + first).require_grad();
}

/// Calls read(), which must not come to a result.
template <class F>
void expect_failure(const std::string& what, F&& read) {
  try {
    read();
    ADD_FAILURE() << what << " came to a result";
  } catch (const Error& error) {
    EXPECT_TRUE(error.kind() == ErrorKind::Index || error.kind() == ErrorKind::Argument)
        << what << ": " << error.what();
  }
}

class Failures : public testing::TestWithParam<Case> {};

TEST_P(Failures, ReachResultsAndGradientsOfAnyOrder) {
  const Case& each = GetParam();
  const Value x = leaf(0.5), w = leaf(1.5);
  expect_failure("the result", [&] { (void)each.of(x, true).data(); });
  expect_failure("the loss", [&] { (void)loss_of(each, x, w, true).item(); });
  for (const Value* of : {&x, &w}) {
    expect_failure("a gradient", [&] { (void)backward(loss_of(each, x, w, true)).of(*of).data(); });
    expect_failure("a gradient by the value", [&] { (void)grad(loss_of(each, x, w, true), {of, 1})[0].data(); });
    expect_failure("a step by hand",
                   [&] { (void)(of->detach() - backward(loss_of(each, x, w, true)).of(*of) * 0.1).data(); });
    expect_failure("a second gradient", [&] {
      const Value first = grad(loss_of(each, x, w, true), {of, 1}, {.create_graph = true})[0];
      (void)backward(sum(square(first * x)) + sum(w)).of(w).data();
    });
    expect_failure("a gradient through a checkpoint", [&] {
      const Value loss = checkpoint([&](const Value& t) { return loss_of(each, t, w, true); }, x);
      (void)backward(loss).of(*of).data();
    });
    expect_failure("a gradient under Autocast", [&] {
      const Autocast half(DType::BF16);
      (void)backward(loss_of(each, x, w, true)).of(*of).data();
    });
    expect_failure("a gradient of another thread", [&] {
      Value gradient;
      std::exception_ptr error;
      std::thread([&] {
        try {
          gradient = backward(loss_of(each, x, w, true)).of(*of);
        } catch (...) { error = std::current_exception(); }
      }).join();
      if (error) std::rethrow_exception(error);
      (void)gradient.data();
    });
    expect_failure("a gradient after the loss was run", [&] {
      const Value loss = loss_of(each, x, w, true);
      autodiff.flush();
      (void)backward(loss).of(*of).data();
    });
    expect_failure("a seed of the caller's", [&] {
      const Value y = each.of(x, true) * 1.0, seed = ones_like(y);
      (void)grad({&y, 1}, {&seed, 1}, {&x, 1})[0].data();
    });
  }
  (void)backward(loss_of(each, x, w, false)).of(x).data();  // right data are fine, before and after
}

struct Model {
  nn::Param<2> x, w;
};
Model make_model(DType dtype) {
  return {nn::Param<2>(cast(leaf(0.5).detach(), dtype)), nn::Param<2>(cast(leaf(1.5).detach(), dtype))};
}

std::vector<std::vector<float>> bits(const Model& model) {
  return {model.x.value().data().to_vector<float>(), model.w.value().data().to_vector<float>()};
}

template <class Config>
void expect_steps_as_if_nothing_had_been(const Case& each, const Config& config, DType dtype) {
  std::vector<std::vector<float>> ends[2];
  for (const bool disturbed : {false, true}) {
    Model model = make_model(dtype);
    auto optimizer = config.init(model);
    const auto step = [&](bool wrong) {
      auto [loss, grads] = value_and_grad(model, [&](const Model& m) -> Tensor<0> {
        return Typed{loss_of(each, cast(m.x.value(), DType::F32), cast(m.w.value(), DType::F32), wrong)};
      });
      model = optimizer.step(0.01, std::move(model), clip_by_global_norm(std::move(grads), 1.0));
    };
    step(false);
    if (disturbed) {
      const auto before = bits(model);
      for (int twice = 0; twice < 2; ++twice) expect_failure(text(Config::kName, "'s step"), [&] { step(true); });
      EXPECT_EQ(bits(model), before);
    }
    step(false);
    step(false);
    ends[disturbed] = bits(model);
  }
  EXPECT_EQ(ends[0], ends[1]) << Config::kName;
}

TEST_P(Failures, LeaveModelAndOptimizerAsTheyWere) {
  const Case& each = GetParam();
  expect_steps_as_if_nothing_had_been(each, SgdConfig{}, DType::F32);
  expect_steps_as_if_nothing_had_been(each, SgdConfig{.momentum = 0.9, .nesterov = true}, DType::F32);
  expect_steps_as_if_nothing_had_been(each, AdamConfig{.weight_decay = 0.1}, DType::F32);
  expect_steps_as_if_nothing_had_been(each, AdamWConfig{}, DType::BF16);
}

INSTANTIATE_TEST_SUITE_P(Ops, Failures, testing::ValuesIn(kCases), [](const auto& info) {
  std::string name = info.param.name;
  std::ranges::replace(name, ' ', '_');
  return name;
});

TEST(Failed, ParametersAreNeitherWrittenNorPrintedNorMoved) {
  const std::string path = testing::TempDir() + "kiln_failed_parameter.safetensors";
  Model model = make_model(DType::F32);
  save(model, path);
  const auto size = std::filesystem::file_size(path);
  const auto stepped = [&] {
    const Gradients grads = backward(loss_of(kCases[0], model.x.value(), model.w.value(), true));
    return Model{nn::Param<2>(model.x.value().detach() - grads.of(model.x.value()) * 0.1),
                 nn::Param<2>(model.w.value().detach() - grads.of(model.w.value()) * 0.1)};
  };
  expect_failure("saving", [&] { save(stepped(), path); });
  expect_failure("printing", [&] { (void)to_text(stepped().w.value()); });
  expect_failure("moving", [&] { (void)to_device(stepped(), Device::parse("reference")); });
  expect_failure("an optimizer's step", [&] {
    Model failed = stepped();
    Adam adam = AdamConfig{}.init(failed);
    auto [loss, grads] = value_and_grad(failed, [&](const Model& m) -> Tensor<0> {
      return Typed{loss_of(kCases[0], m.x.value(), m.w.value(), false)};
    });
    (void)adam.step(0.1, failed, grads);
  });
  EXPECT_EQ(std::filesystem::file_size(path), size);
  const Model read = load(path, make_model(DType::F32));
  EXPECT_EQ(bits(read), bits(model));
  std::filesystem::remove(path);
}

TEST(Failed, ScaledStepsLeaveTheScale) {
  Model model = make_model(DType::F32);
  GradientScaler scaler = GradientScalerConfig{.exponent = 8, .interval = 1}.init();
  expect_failure("unscaling", [&] {
    auto [loss, grads] = value_and_grad(model, [&](const Model& m) {
      return scaler.scale(Tensor<0>(Typed{loss_of(kCases[0], m.x.value(), m.w.value(), true)}));
    });
    (void)scaler.unscale(std::move(grads));
  });
  EXPECT_EQ(scaler.scale(), 256);
}

// ---- memory ----------------------------------------------------------------------------------------------------------

struct Net {
  nn::Linear hidden;
  nn::BatchNorm norm;
  nn::Linear output;
  Tensor<2> forward(const Tensor<2>& x) const { return output.forward(norm.forward(hidden.forward(x)).tanh()); }
};

/// Parameters. The running statistics count a batch that got through the forward pass.
std::vector<std::vector<float>> bits(const Net& net) {
  std::vector<std::vector<float>> all;
  visit_params(net, [&](const std::string&, const auto& param) { all.push_back(param.to_vector()); });
  visit_buffers(net, [&](const std::string& path, const auto& buffer) {
    for (const float number : buffer.value().data().template to_vector<float>())
      EXPECT_TRUE(std::abs(number) < 10) << path;
  });
  return all;
}

/// Trains on batches of these sizes; a batch that finds no memory is left out. Returns what there is at the end, and in
/// `left_out` how many were.
std::vector<std::vector<float>> trained(const std::vector<int64_t>& batches, int64_t limit, int& left_out) {
  autodiff.release_memory();
  autodiff.seed(1);
  Net net{nn::LinearConfig{.in = 64, .out = 128}.init(autodiff), nn::BatchNormConfig{.channels = 128}.init(autodiff),
          nn::LinearConfig{.in = 128, .out = 8}.init(autodiff)};
  Adam adam = AdamConfig{}.init(net);
  autodiff.set_memory_limit(limit);
  for (const int64_t batch : batches) {
    try {
      const Tensor<2> x{Typed{normal({batch, 64}, 0, 1, autodiff, DType::F32, Key{7})}};
      auto [loss, grads] = value_and_grad(net, [&](const Net& n) { return n.forward(x).square().mean(); });
      net = adam.step(0.01, std::move(net), clip_by_global_norm(std::move(grads), 1.0));
      (void)loss.item();
    } catch (const MemoryError&) { ++left_out; }
  }
  autodiff.set_memory_limit(int64_t{1} << 40);
  return bits(net);
}

TEST(MemoryShortage, LeavesAProgramUsableWhereverItOccurs) {
  const int64_t large = 1 << 14;  // whose values have 8 MiB a layer
  int none = 0;
  const auto without = trained({64, 64, 64, 32, 16}, int64_t{1} << 40, none);
  const auto with = trained({64, 64, large, 64, 32, 16}, int64_t{1} << 40, none);
  ASSERT_EQ(none, 0);
  ASSERT_NE(without, with);
  int failed = 0, fitted = 0;
  for (int64_t limit = 20; limit <= 100 && fitted < 2; ++limit) {
    int left_out = 0;
    const auto found = trained({64, 64, large, 64, 32, 16}, limit << 20, left_out);
    ASSERT_LE(left_out, 1) << limit;
    ++(left_out ? failed : fitted);
    ASSERT_EQ(found, left_out ? without : with) << limit;
  }
  EXPECT_GT(failed, 5);
  EXPECT_GT(fitted, 0);
}

}  // namespace
}  // namespace kiln

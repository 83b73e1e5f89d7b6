#include "kiln/autodiff/backward.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include "kiln/core/error/trace.hpp"
#include "kiln/ops/backend.hpp"
#include "kiln/ops/custom.hpp"
#include "kiln/ops/scope/no_grad.hpp"
#include "tests/support/devices.hpp"

namespace kiln {
namespace {

using test::autodiff;

Value leaf(std::initializer_list<double> values, const Device& device = autodiff) {
  return from_data(TensorData::of<double>({static_cast<std::int64_t>(values.size())}, values), device).require_grad();
}

std::vector<double> numbers(const Value& value) { return value.data().to_vector<double>(); }

template <class F>
std::string sentence(F&& f) {
  try {
    f();
  } catch (const Error& error) { return std::string(without_calls(error.what())); }
  return "no error";
}

TEST(Backward, GivesTheGradientOfTheSum) {
  const Value x = leaf({1, 2, 3});
  EXPECT_EQ(numbers(backward(x * x).of(x)), (std::vector<double>{2, 4, 6}));
}

TEST(Backward, AddsWhatFlowsInFromSeveralSides) {
  const Value x = leaf({2}), y = x * 3.0;
  EXPECT_EQ(numbers(backward(y * x + y).of(x)), (std::vector<double>{6 * 2 + 3}));
}

TEST(Backward, LeavesTensorsAsTheyWere) {
  const Value x = leaf({1, 2});
  const Value loss = sum(square(x));
  EXPECT_EQ(numbers(backward(loss).of(x)), numbers(backward(loss).of(x)));
}

TEST(Backward, SumsAwayWhatBroadcastingRepeated) {
  const Value x = leaf({1, 2, 3}), y = leaf({5});
  const Gradients gradients = backward(x * y);
  EXPECT_EQ(numbers(gradients.of(y)), (std::vector<double>{6}));
  EXPECT_EQ(gradients.of(y).shape(), (Shape{1}));
}

TEST(Backward, SaysWhatIsMissingWhereNothingIsTracked) {
  const Value x = ones({2}, Device::cpu());
  EXPECT_EQ(sentence([&] { backward(x * 2.0); }),
            "AutodiffError: backward: nothing here is tracked; make the parameters on device.autodiff() or call "
            "require_grad() on a leaf");
  EXPECT_EQ(sentence([&] { (void)x.require_grad(); }),
            "AutodiffError: require_grad: device cpu does not differentiate; make the tensor on device.autodiff()");
  EXPECT_EQ(sentence([&] { (void)ones({2}, autodiff, DType::I32).require_grad(); }),
            "AutodiffError: require_grad: only a tensor of floats can have a gradient, got int32 [2]");
}

TEST(Gradients, AreOfLeavesThatTookPart) {
  const Value x = leaf({1}), y = leaf({2}), z = x * 2.0;
  const Gradients gradients = backward(z);
  EXPECT_EQ(gradients.size(), 1u);
  EXPECT_FALSE(gradients.find(y).has_value());
  EXPECT_EQ(sentence([&] { (void)gradients.of(y); }), "AutodiffError: gradients: float64 [1] took no part in the loss");
  EXPECT_EQ(
      sentence([&] { (void)gradients.of(z); }),
      "AutodiffError: gradients: float64 [1] is the result of an operation; grad(loss, ...) differentiates by those");
  EXPECT_EQ(sentence([&] { (void)gradients.of(z.detach()); }),
            "AutodiffError: gradients: float64 [1] is not tracked; call require_grad() on it first");
}

TEST(Tracking, StopsAtDetachAndInsideNoGrad) {
  const Value x = leaf({3});
  EXPECT_FALSE(x.detach().tracked());
  {
    const NoGrad pause;
    EXPECT_FALSE((x * x).tracked());
    { const NoGrad nested; }
    EXPECT_FALSE((x * x).tracked());
  }
  EXPECT_TRUE((x * x).tracked());
  EXPECT_EQ(numbers(backward(x * x.detach()).of(x)), (std::vector<double>{3}));
}

TEST(Tracking, NeverReachesIntegersAndBooleans) {
  const Value x = leaf({3, 1});
  EXPECT_FALSE(gt(x, 2).tracked());
  EXPECT_FALSE(argmax(x, 0).tracked());
  EXPECT_FALSE(cast(x, DType::I64).tracked());
  EXPECT_TRUE(cast(x, DType::F16).tracked());
}

TEST(Tracking, LetsConstantsMixWithTrackedValues) {
  const Value x = leaf({3}), constant = from_data(TensorData::of<double>({1}, {4}), Device::cpu());
  const Gradients gradients = backward(x * constant);
  EXPECT_EQ(numbers(gradients.of(x)), (std::vector<double>{4}));
  EXPECT_EQ(gradients.size(), 1u);
}

TEST(Grad, DifferentiatesByValuesThatAreNoLeaves) {
  const Value x = leaf({2}), y = x * x, z = y * y;
  const Value wrt[] = {y, x};
  const Values found = grad(z, wrt);
  EXPECT_EQ(numbers(found[0]), (std::vector<double>{8}));
  EXPECT_EQ(numbers(found[1]), (std::vector<double>{32}));
}

TEST(Grad, WeighsOutputsBySeedsAndGivesZerosWhereNothingFlows) {
  const Value x = leaf({2}), y = leaf({5});
  const Value outputs[] = {x * x, x * 3.0}, seeds[] = {from_data(TensorData::of<double>({1}, {10}), autodiff), Value()},
              wrt[] = {x, y};
  const Values found = grad(outputs, seeds, wrt);
  EXPECT_EQ(numbers(found[0]), (std::vector<double>{43}));
  EXPECT_EQ(numbers(found[1]), (std::vector<double>{0}));
}

TEST(SecondOrder, IsAnotherBackward) {
  const Value x = leaf({2});
  const Value dx = backward(x * x * x, {.create_graph = true}).of(x);
  EXPECT_EQ(numbers(dx), (std::vector<double>{12}));
  const Value ddx = backward(dx, {.create_graph = true}).of(x);
  EXPECT_EQ(numbers(ddx), (std::vector<double>{12}));
  EXPECT_EQ(numbers(backward(ddx).of(x)), (std::vector<double>{6}));
  EXPECT_FALSE(backward(x * x).of(x).tracked());
}

TEST(Graph, OfAHundredThousandOpsIsFreedWithoutRecursion) {
  const auto before = autodiff.memory().in_use;
  {
    Value x = leaf({1});
    Value y = x;
    for (int i = 0; i < 100'000; ++i) y = y * 1.0 + 0.0;
    EXPECT_EQ(numbers(backward(y).of(x)), (std::vector<double>{1}));
  }
  EXPECT_EQ(autodiff.memory().in_use, before);
}

TEST(Graph, KeepsOnlyTheTensorsThatItsGradientReads) {
  const auto in_use = [] { return autodiff.memory().in_use; };
  const Value x = from_data(TensorData({1 << 20}, DType::F32), autodiff).require_grad();
  const auto before = in_use();
  const Value y = (x + 1.0) * 2.0;        // neither needs its operand
  EXPECT_LT(in_use() - before, 6 << 20);  // the result, and not the sum in between
  EXPECT_GE(in_use() - before, 4 << 20);
}

TEST(Graph, IsDifferentiatedFromSeveralThreadsThatShareALeaf) {
  const Value shared = leaf({2, 3});
  std::vector<std::vector<double>> found(4);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const Value own = leaf({double(t), 1});
        found[std::size_t(t)] = numbers(backward(sum(square(shared) * own)).of(shared));
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (int t = 0; t < 4; ++t) EXPECT_EQ(found[std::size_t(t)], (std::vector<double>{4.0 * t, 6}));
}

TEST(Graph, MayCrossThreads) {
  const Value x = leaf({2});
  Value y;
  std::thread([&] { y = x * x; }).join();
  std::vector<double> found;
  std::thread([&] { found = numbers(backward(y * x).of(x)); }).join();
  EXPECT_EQ(found, (std::vector<double>{12}));
}

TEST(Prod, HasARightGradientBesideZeros) {
  const Value none = leaf({2, 3, 4}), one = leaf({2, 0, 4}), two = leaf({0, 3, 0});
  EXPECT_EQ(numbers(backward(prod(none)).of(none)), (std::vector<double>{12, 8, 6}));
  EXPECT_EQ(numbers(backward(prod(one)).of(one)), (std::vector<double>{0, 8, 0}));
  EXPECT_EQ(numbers(backward(prod(two)).of(two)), (std::vector<double>{0, 0, 0}));
}

TEST(Max, SharesItsGradientAmongEqualElements) {
  const Value x = leaf({5, 1, 5});
  EXPECT_EQ(numbers(backward(max(x)).of(x)), (std::vector<double>{0.5, 0, 0.5}));
  const Value a = leaf({1}), b = leaf({1});
  const Gradients gradients = backward(maximum(a, b));
  EXPECT_EQ(numbers(gradients.of(a)), (std::vector<double>{0.5}));
  EXPECT_EQ(numbers(gradients.of(b)), (std::vector<double>{0.5}));
}

TEST(Gradients, LetOneGo) {
  const Value a = leaf({1, 2}), b = leaf({3, 4});
  Gradients gradients = backward(sum(a * b));
  EXPECT_EQ(numbers(gradients.pop(a)), (std::vector<double>{3, 4}));
  EXPECT_EQ(gradients.size(), 1u);
  EXPECT_FALSE(gradients.find(a));
  EXPECT_THROW(gradients.pop(a), AutodiffError);
  EXPECT_EQ(numbers(gradients.pop(b)), (std::vector<double>{1, 2}));
  EXPECT_EQ(gradients.size(), 0u);
}

TEST(Backward, PrintsItsWalkIfAsked) {
  const Value x = leaf({1, 2});
  const Value loss = sum(exp(x) * x);
  const auto printed = [&] {
    testing::internal::CaptureStderr();
    backward(loss);
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_EQ(printed(), "");
  ::setenv("KILN_LOG", "autodiff", 1);
  const std::string said = printed();
  ::unsetenv("KILN_LOG");
  EXPECT_EQ(
      said,
      "backward of float64 []:\n  reshape: float64 []\n  sum: float64 [1]\n  mul: float64 [2]\n  exp: float64 [2]\n"
      "  leaf: float64 [2]\n  4 operations, 1 leaves; 32 bytes of 2 tensors were kept for it\n");
}

TEST(Pow, HasAGradientAtZero) {
  const Value x = leaf({0, 2});
  EXPECT_EQ(numbers(backward(pow(x, 2.0)).of(x)), (std::vector<double>{0, 4}));
  EXPECT_EQ(numbers(backward(pow(x, 0.0)).of(x)), (std::vector<double>{0, 0}));
  EXPECT_EQ(numbers(backward(pow(2.0, x)).of(x)), (std::vector<double>{std::log(2.0), 4 * std::log(2.0)}));
}

// ---- operations of one's own ---------------------------------------------------------------------------------------

struct Cube : CustomOp {
  bool own_gradient = false;
  explicit Cube(bool own) : own_gradient(own) {}
  std::string name() const override { return "cube"; }
  Descs infer(Inputs in) const override {
    require<ShapeError>(in[0].rank() == 1, "cube: takes vectors, got ", in[0]);
    return {Desc{in[0].shape(), in[0].dtype()}};
  }
  Values expand(Inputs in) const override { return {in[0] * in[0] * in[0]}; }
  bool has_vjp() const override { return own_gradient; }
  // Twice the true one, to tell the two apart.
  Values vjp(Inputs in, Inputs, Inputs g) const override { return {g[0] * square(in[0]) * 6.0}; }
};

TEST(CustomOp, IsDifferentiatedThroughItsExpansionOrByItsOwnGradient) {
  const Value x = leaf({2});
  EXPECT_EQ(numbers(custom(make_ref<Cube>(false), {&x, 1})[0]), (std::vector<double>{8}));
  EXPECT_EQ(numbers(backward(custom(make_ref<Cube>(false), {&x, 1})[0]).of(x)), (std::vector<double>{12}));
  EXPECT_EQ(numbers(backward(custom(make_ref<Cube>(true), {&x, 1})[0]).of(x)), (std::vector<double>{24}));
  const Value dx = backward(custom(make_ref<Cube>(true), {&x, 1})[0], {.create_graph = true}).of(x);
  EXPECT_EQ(numbers(backward(dx).of(x)), (std::vector<double>{24}));
}

TEST(CustomOp, ChecksItsOperands) {
  const Value x = ones({2, 2}, Device::cpu());
  EXPECT_EQ(sentence([&] { custom(make_ref<Cube>(false), {&x, 1}); }),
            "ShapeError: cube: takes vectors, got float32 [2, 2]");
}

}  // namespace
}  // namespace kiln

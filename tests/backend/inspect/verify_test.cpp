// Backends that are wrong on purpose are found out, and by name.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>

#include "kiln/autodiff/backward.hpp"
#include "kiln/backend/inspect/decorator.hpp"
#include "kiln/backend/inspect/profile.hpp"
#include "kiln/backend/inspect/verify.hpp"
#include "kiln/fusion/fusion.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/op.hpp"

namespace kiln {
namespace {

/// The processor itself is not to fuse.
const bool kPlain = setenv("KILN_FUSION", "0", 1) == 0;

Value numbers(const Device& device, std::initializer_list<float> values) {
  return from_data(TensorData::of<float>({static_cast<std::int64_t>(values.size())}, values), device);
}

/// What VerifyError says when `function` is called.
template <class F>
std::string complaint(F&& function) {
  try {
    function();
  } catch (const VerifyError& error) { return std::string(error.message()); }
  return "nothing";
}

void expect_parts(const std::string& message, std::initializer_list<const char*> parts) {
  for (const char* part : parts) EXPECT_NE(message.find(part), std::string::npos) << part << " in: " << message;
}

/// Adds a half to every second element that one operation gives.
class Lying final : public Decorator {
 public:
  explicit Lying(std::string_view about) : Decorator(Device::cpu().handle()), about_(about) {}
  void run(const op::Op& op, Call call) override {
    inner_->run(op, call);
    if (op::title(op) != about_) return;
    TensorData data = inner_->download(call.out[0]);
    for (std::size_t i = 1; i < data.as<float>().size(); i += 2) data.as<float>()[i] += 0.5f;
    const Ref<Node> lie = inner_->upload(data, call.out[0].device());
    Node& result = *call.out[0].node();
    result.storage = lie->storage;
    result.strides = lie->strides;
    result.offset = lie->offset;
  }

 private:
  const std::string about_;
};

TEST(Verify, NamesTheOperationThatDiffersFromTheReference) {
  const Verify verify(Device(make_ref<Lying>("sin")), {.reference = Device::parse("reference")});
  const Value x = numbers(verify.device(), {1, 2, 3, 4});
  const Value y = exp(x) * 3;
  EXPECT_GE(verify.compared(), 2);
  expect_parts(complaint([&] { (void)sin(y); }), {"sin of float32 [4]: result 0, float32 [4], is not that of reference",
                                                  "2 of 4 elements differ", "(off by 0.5"});
  EXPECT_NEAR((y + 1).data().at(0), std::exp(1.0) * 3 + 1, 1e-4);
}

TEST(Verify, ComparesWhatIsMadeOfOthersWithThose) {
  const Verify verify(Device(make_ref<Lying>("softmax")));
  const Value x = numbers(verify.device(), {1, 2, 3, 4});
  (void)sin(x);
  EXPECT_EQ(verify.compared(), 0);  // made of nothing else
  expect_parts(complaint([&] { (void)softmax(x, 0); }),
               {"softmax of float32 [4]: result 0, float32 [4], is not what it is made of"});
}

TEST(Verify, TakesATolerance) {
  const Verify loose(Device(make_ref<Lying>("sin")),
                     {.reference = Device::parse("reference"), .tolerance = Tolerance{.relative = 0, .absolute = 0.6}});
  EXPECT_EQ(complaint([&] { (void)sin(numbers(loose.device(), {1, 2})); }), "nothing");
  EXPECT_THROW(Verify(Device::cpu(), {.reference = Device::cpu()}), DeviceError);
}

/// Fuses wrongly: in its kernels exp is expm1. Alone it is right.
class WrongFused final : public Decorator {
 public:
  WrongFused() : Decorator(Device::parse("reference").handle()) {}
  bool has_kernel(const op::Op& op) const override {
    return std::holds_alternative<op::Fused>(op.is) || inner_->has_kernel(op);
  }
  void run(const op::Op& op, Call call) override {
    const auto* fused = std::get_if<op::Fused>(&op.is);
    if (!fused) return inner_->run(op, call);
    auto wrong = std::make_shared<op::Program>();
    wrong->shape = fused->program->shape;
    wrong->inputs = fused->program->inputs;
    wrong->outputs = fused->program->outputs;
    wrong->steps = fused->program->steps;
    for (op::Program::Step& step : wrong->steps)
      if (auto* unary = std::get_if<op::Unary>(&step.op); unary && unary->fn == op::UnaryFn::Exp)
        unary->fn = op::UnaryFn::Expm1;
    inner_->run(op::Fused{wrong}, call);
  }
};

TEST(Verify, NamesTheFirstWrongStepOfAFusedKernel) {
  const Verify verify(Device(make_ref<fusion::Fusion>(make_ref<WrongFused>())));
  const Value x = numbers(verify.device(), {1, 2, 3});
  EXPECT_EQ((x * 2 + 1).data().at(0), 3);  // fused, and right
  const Value y = sin(exp(x * 2)) + 1;
  expect_parts(complaint([&] { (void)y.data(); }),
               {"mul+exp+sin+add of float32 [3], 2, 1: result 0, float32 [3], is not what it is made of, "
                "first in step 1, exp -> float32 [3]",
                "3 of 3 elements differ"});
}

/// Plans wrongly: it takes the operands of a difference the wrong way round.
class WrongPlans final : public Decorator {
 public:
  explicit WrongPlans(Ref<Backend> inner) : Decorator(std::move(inner)) {}
  void run(const op::Op& op, Call call) override {
    if (op::title(op) != "sub") return inner_->run(op, call);
    const std::vector<Value> turned(call.in.rbegin(), call.in.rend());
    inner_->run(op, {turned, call.out});
  }
  Ref<Backend> with_core(Wrap wrap) override { return make_ref<WrongPlans>(inner_->with_core(wrap)); }
};

TEST(Verify, NamesTheFirstValueThatAPlanGetsWrong) {
  const Verify verify(Device(make_ref<WrongPlans>(Device::cpu().handle())));
  const Value x = numbers(verify.device(), {1, 2, 3}), y = exp(x);
  const Value wrong = x - 5, later = wrong * 2;
  expect_parts(complaint([&] { (void)later.data(); }),
               {"sub of float32 [3], 5 -> float32 [3]: the plan gives other numbers than the operations one by one",
                "3 of 3 elements differ", "[0]: 4, expected -4"});
  EXPECT_NEAR((y + 1).data().at(0), std::exp(1.0) + 1, 1e-6);  // told once
}

TEST(Verify, FindsNothingWrongWithWhatIsRight) {
  for (const Device& inner : {Device::parse("cpu"), Device(make_ref<fusion::Fusion>(Device::parse("cpu").handle()))}) {
    const Verify verify(inner.autodiff());
    const Value x = reshape(arange(0.0, 12.0, 1.0, verify.device(), DType::F32), {3, 4}).require_grad();
    const Value weight = (transpose(x.detach()) * 0.1).require_grad();
    const Value halves = cast(cast(x, DType::BF16) * 2 + 1, DType::F32);
    const Value loss = mean(softmax(tanh(matmul(halves * 0.1, weight)), 1) * 3 - 1);
    (void)backward(loss).find(weight)->data();
    EXPECT_GE(verify.compared(), 1);
    verify.device().sync();
  }
}

TEST(Verify, ComparesTheStepsOfPlansWithTheReference) {
  const Verify verify(Device(make_ref<fusion::Fusion>(Device::parse("cpu").handle())),
                      {.reference = Device::parse("reference")});
  const Value x = reshape(arange(0.0, 2048.0, 1.0, verify.device(), DType::F32) * 1e-3, {512, 4});
  const Value product = relu(matmul(x, transpose(x)) + 1);  // finished as it is made
  std::vector<Value> small;
  for (int i = 1; i < 9; ++i) small.push_back(exp(narrow(x, 0, i, 7)) * 0.5 + i);  // together
  verify.device().sync();
  EXPECT_GE(verify.compared(), 3);
}

}  // namespace
}  // namespace kiln

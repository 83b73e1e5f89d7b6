// Backends that are wrong on purpose are found out, and by name.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <thread>

#include "kiln/autodiff/backward.hpp"
#include "kiln/backend/inspect/profile.hpp"
#include "kiln/backend/inspect/verify.hpp"
#include "kiln/backend/inspect/verifying.hpp"
#include "kiln/fusion/fusion.hpp"
#include "kiln/ops/elementwise/enumerators.hpp"
#include "kiln/ops/failure.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/norm/normalization.hpp"
#include "kiln/ops/op.hpp"
#include "tests/support/forwarding.hpp"

namespace kiln {
namespace {

/// The processor itself is not to fuse.
const bool kPlainKernels = setenv("KILN_FUSION", "0", 1) == 0;

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

/// Adds a half to elements 0, `step`, 2 * `step`, ... behind `first`.
void falsify(Backend& backend, Value& result, std::size_t first, std::size_t step) {
  TensorData data = backend.download(result);
  for (std::size_t i = first; i < data.as<float>().size(); i += step) data.as<float>()[i] += 0.5f;
  const Ref<Node> lie = backend.upload(data, result.device());
  result.node()->storage = lie->storage;
  result.node()->strides = lie->strides;
  result.node()->offset = lie->offset;
}

/// Adds a half to every second element that one operation gives.
class Lying final : public test::Forwarding {
 public:
  explicit Lying(std::string_view about) : about_(about) {}
  void run(const op::Op& op, Call call) override {
    inner_->run(op, call);
    if (op::display_name(op) == about_) falsify(*inner_, call.out[0], 1, 2);
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
  (void)reshape(x, {2, 2});
  EXPECT_EQ(verify.compared(), 0);  // the same elements
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
class WrongFused final : public test::Forwarding {
 public:
  WrongFused() : Forwarding(Device::parse("reference").handle()) {}
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
    for (op::ProgramStep& step : wrong->steps)
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
    if (op::display_name(op) != "sub") return inner_->run(op, call);
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

// A server makes failures of values that a client may not have.
TEST(Verify, TakesOperandsThatAreFailures) {
  const Verify verify(Device(make_ref<WrongPlans>(Device::cpu().handle())));
  Value lost(make_ref<Node>(Desc{{3}, DType::F32}, verify.device()));
  lost.node()->storage = attempt([] { fail<DataError>("it is lost"); });
  const Value x = numbers(verify.device(), {1, 2, 3});
  try {
    (void)(lost + x).data();
    ADD_FAILURE() << "no error";
  } catch (const DataError& error) { expect_parts(std::string(error.message()), {"it is lost"}); }
  EXPECT_EQ((x + 1).data().at(0), 2);
}

/// A matrix product that is right the first time that it meets the memory of its right operand. `outside`: beside what
/// fuses, where only plans can be compared, and not kernels.
class Stale final : public Decorator {
 public:
  Stale(Ref<Backend> inner, bool outside) : Decorator(std::move(inner)), outside_(outside) {}
  void run(const op::Op& op, Call call) override {
    if (op::display_name(op) != "matmul") return inner_->run(op, call);
    const Ref<Storage> weight = call.in[1].node()->storage;
    const bool again = std::ranges::find(met_, weight) != met_.end();
    met_.push_back(weight);
    inner_->run(op, call);
    if (again) falsify(*inner_, call.out[0], 0, 1);
  }
  Ref<Backend> with_core(Wrap wrap) override {
    if (!outside_) return wrap(Ref<Backend>(this));
    return make_ref<Stale>(inner_->with_core(wrap), true);
  }

 private:
  const bool outside_;
  std::vector<Ref<Storage>> met_;
};

TEST(Verify, ComparesWhatTheProgramWasGivenAndNotASecondRunOfIt) {
  const Ref<Backend> cpu = Device::cpu().handle();
  for (const Device& device :
       {Device(make_ref<Stale>(cpu, false)), Device(make_ref<fusion::Fusion>(make_ref<Stale>(cpu, false))),
        Device(make_ref<Stale>(make_ref<fusion::Fusion>(cpu), true))})
    for (const bool to_reference : {false, true}) {
      const Verify verify(device, {.reference = to_reference ? Device::parse("reference") : Device()});
      const Value x = reshape(arange(0.0, 12.0, 1.0, verify.device(), DType::F32), {3, 4}) + 1;
      const Value weight = from_data(TensorData::of<float>({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}), verify.device());
      // Once is right: that Verify computes it too is not a second use.
      const std::string right =
          complaint([&] { EXPECT_EQ(matmul(x, weight).data().at(0), 1 + 2 * 3 + 3 * 5 + 4 * 7); });
      EXPECT_EQ(right, "nothing");
      const std::string wrong = complaint([&] { (void)matmul(x, weight).data(); });
      expect_parts(wrong, {"matmul of float32 [3, 4], float32 [4, 2]", "6 of 6 elements differ"});
    }
}

/// Adds a half where it may take the memory of an operand.
class WrongInPlace final : public test::Forwarding {
 public:
  using Forwarding::Forwarding;
  void run(const op::Op& op, Call call) override {
    inner_->run(op, call);
    if (call.last_uses && op::display_name(op) == "softmax") falsify(*inner_, call.out[0], 0, 1);
  }
};

TEST(Verify, LetsKernelsTakeTheMemoryOfTheirOperands) {
  const Verify verify(Device(make_ref<fusion::Fusion>(make_ref<WrongInPlace>(Device::cpu().handle()))));
  const Value x = numbers(verify.device(), {1, 2, 3, 4});
  EXPECT_NEAR(softmax(x, 0).data().at(0), std::exp(-3) * (1 - std::exp(-1)) / (1 - std::exp(-4)), 1e-6);
  const Value y = softmax(softmax(x, 0), 0);
  expect_parts(complaint([&] { (void)y.data(); }), {"softmax of float32 [4]", "4 of 4 elements differ"});
}

TEST(Verify, TakesProgramsOfManyThreads) {
  const Verify verify(Device(make_ref<fusion::Fusion>(Device::cpu().handle())));
  const Value weight = numbers(verify.device(), {1, 2, 3, 4, 5, 6, 7, 8}) * 2 - 1;  // waits in this thread's stream
  std::atomic<int> wrong = 0;
  std::vector<std::string> complaints(4);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&, thread] {
      complaints[static_cast<std::size_t>(thread)] = complaint([&] {
        for (int i = 0; i < 100; ++i) {
          std::vector<Value> all{numbers(verify.device(), {1, 1, 1, 1, 1, 1, 1, 1})};
          for (int j = 0; j < 20; ++j) {
            all.push_back(all.back() * 2 - thread);
            if (j % 5 == thread) (void)all[all.size() / 2].data();
          }
          if (i % 16 == 5) verify.device().sync();
          const double expected = (1 << 20) - thread * ((1 << 20) - 1.0) + 3;
          if ((all.back() + weight).data().at(1) != expected) ++wrong;
        }
      });
    });
  for (std::thread& thread : threads) thread.join();
  for (const std::string& told : complaints) EXPECT_EQ(told, "nothing");
  EXPECT_EQ(wrong, 0);
  EXPECT_GE(verify.compared(), 4 * 100 * 20);
}

TEST(Verify, ComparesWhatAnotherThreadAskedFor) {
  const Verify verify(Device(make_ref<WrongPlans>(Device::cpu().handle())));
  Value wrong, unread;
  std::thread([&] {
    wrong = numbers(verify.device(), {1, 2, 3}) - 5;
    unread = numbers(verify.device(), {4, 5}) - 6;
  }).join();
  expect_parts(complaint([&] { (void)wrong.data(); }), {"sub of float32 [3], 5"});
  std::thread([&] { unread = numbers(verify.device(), {4, 5}) - 6; }).join();
  expect_parts(complaint([&] { verify.device().sync(); }), {"sub of float32 [2], 6"});
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

// The gradient of a sum of what is normalised is nothing: what comes out is the rounding of terms as large as the
// gradients times the inverse deviation.
TEST(Verify, JudgesByItsTermsWhatCancelsOut) {
  const Verify verify(Device::cpu());
  const Device device = verify.device().autodiff();
  const Value x = normal({4, 600}, 1, 1e-3, device, DType::F32, Key{3}).require_grad();
  const Value w = full({600}, 1000.0, device).require_grad(), b = zeros({600}, device).require_grad();
  const auto gradients = [&](const Value& loss) {
    for (const Value& each : grad(loss, Values{x, w, b})) static_cast<void>(each.data());
  };
  EXPECT_NO_THROW(gradients(sum(layer_norm(x, w, b))));
  const Value image = reshape(x, {4, 6, 100}), factor = full({6}, 1000.0, device);
  EXPECT_NO_THROW(gradients(sum(group_norm(image, 2, factor, {}, 1e-5)) + sum(w) + sum(b)));
  EXPECT_NO_THROW(gradients(sum(batch_norm_training(image, {}, {}, factor, {}).output) + sum(w) + sum(b)));
  EXPECT_GT(verify.compared(), 0);
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

TEST(Verify, ComparesPlansWhereThereAreSome) {
  const char* const before = std::getenv("KILN_FUSION");
  const std::string fuses = before ? before : "";
  setenv("KILN_VERIFY", "1", 1);
  setenv("KILN_FUSION", "0", 1);
  const Ref<Backend> plain = decorated(Device::parse("reference").handle());
  setenv("KILN_FUSION", "1", 1);
  const Ref<Backend> fusing = decorated(Device::parse("reference").handle());
  unsetenv("KILN_VERIFY");
  if (before) setenv("KILN_FUSION", fuses.c_str(), 1);
  else unsetenv("KILN_FUSION");
  EXPECT_NE(dynamic_cast<const VerifiedKernels*>(plain.get()), nullptr);
  EXPECT_NE(dynamic_cast<const VerifiedPlans*>(fusing.get()), nullptr);
}

}  // namespace
}  // namespace kiln

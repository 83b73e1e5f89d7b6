// What a device has no kernel for runs as what it is made of, and never reaches it.
#include "kiln/ops/expand.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "kiln/autodiff/backward.hpp"
#include "kiln/fusion/fusion.hpp"
#include "kiln/ops/custom.hpp"
#include "kiln/ops/elementwise/enumerators.hpp"
#include "kiln/ops/emit.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/planned/sequence.hpp"
#include "kiln/ops/reduce/order.hpp"
#include "tests/support/backends/devices.hpp"
#include "tests/support/backends/few_kernels.hpp"

namespace kiln::test {
namespace {

Value numbers(const Shape& shape, const Device& device) {
  TensorData data(shape, DType::F32);
  for (std::size_t i = 0; i < data.as<float>().size(); ++i) data.as<float>()[i] = 1e-4f * static_cast<float>(i);
  return from_data(std::move(data), device);
}

/// Notes which planned ops it runs, of which it has kernels for those named.
class Having final : public Forwarding {
 public:
  explicit Having(std::set<std::string_view> planned) : Forwarding(plain_cpu()), planned_(std::move(planned)) {}
  bool has_kernel(const op::Op& op) const override {
    return is_planned(op) ? planned_.contains(op::name(op)) : inner_->has_kernel(op);
  }
  void run(const op::Op& op, Call call) override {
    EXPECT_TRUE(has_kernel(op)) << text(op);
    if (is_planned(op)) ran.insert(std::string(op::name(op)));
    inner_->run(op, call);
  }
  std::set<std::string> ran;

 private:
  const std::set<std::string_view> planned_;
};

/// A program whose plan has all four kinds of planned ops that the processor has kernels for.
std::vector<float> run_program(const Device& device) {
  const Value x = numbers({2048, 1024}, device), w = numbers({1024, 128}, device);
  Values small;  // side by side
  for (int i = 1; i < 4; ++i) small.push_back(numbers({5}, device) * i + 1);
  const Value y = relu(matmul(x, w) + 1);                                             // an epilogue
  const Value rows = exp(x - max(x, {1}, true)), soft = rows / sum(rows, {1}, true);  // in blocks
  const Value loss = mean(square(soft + 1));
  std::vector<float> all = loss.data().to_vector<float>();
  for (const Value& value : {y, soft, small[0], small[1], small[2]}) {
    const std::vector<float> elements = value.data().to_vector<float>();
    all.insert(all.end(), elements.begin(), elements.begin() + 5);
  }
  return all;
}

TEST(PlannedOps, ReachOnlyDevicesThatHaveKernelsForThem) {
  const std::vector<float> expected = run_program(Device(plain_cpu()));
  const std::set<std::string> all = {"fused", "epilogue", "row_blocked", "horizontal"};
  for (const std::set<std::string_view>& has :
       std::vector<std::set<std::string_view>>{{},
                                               {"fused"},
                                               {"epilogue"},
                                               {"row_blocked"},
                                               {"horizontal"},
                                               {"fused", "epilogue", "row_blocked", "horizontal"}}) {
    const auto backend = make_ref<Having>(has);
    const std::vector<float> found = run_program(Device(make_ref<fusion::Fusion>(backend)));
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-4 * std::abs(expected[i]));
    EXPECT_EQ(backend->ran, std::set<std::string>(has.begin(), has.end()));
  }
}

TEST(FewKernels, RunWhatIsMadeOfThem) {
  const auto few = make_ref<FewKernels>(plain_cpu(), /*strict=*/true);
  const Device device = Device(make_ref<fusion::Fusion>(few)).autodiff();
  const Value x = numbers({6, 8}, device).require_grad(), w = numbers({8, 4}, device);
  const Value y = layer_norm(softmax(gelu(matmul(x, w)), 1), full({4}, 1.0, device, DType::F32),
                             full({4}, 0.0, device, DType::F32));
  const Value gradient = *backward(sum(y * y * numbers({6, 4}, device))).find(x);
  EXPECT_EQ(gradient.data().shape(), Shape({6, 8}));
  EXPECT_EQ(few->borrowed(), std::set<std::string>());
  EXPECT_THROW((void)sort(x.detach(), 1).values.data(), DeviceError);  // made of nothing
}

// Two backends that share a program each make their own of it.
TEST(Programs, KeepApartWhatBackendsMakeOfThem) {
  struct Instructions {
    explicit Instructions(const op::Program& program) : steps(program.steps.size()) {}
    std::size_t steps;
  };
  struct Kernel {
    std::string text;
  };
  auto program = std::make_shared<op::Program>();
  program->shape = {4};
  program->inputs = {DType::F32};
  program->steps.push_back({op::Unary{op::UnaryFn::Exp}, {}, DType::F32});
  program->outputs = {0};
  const auto one = make_ref<FewKernels>(plain_cpu()), other = make_ref<FewKernels>(plain_cpu());
  EXPECT_EQ(program->cached<Instructions>().steps, 1u);
  const auto kernel_of = [&](const Backend& backend, const char* text) {
    return program->cached<Kernel>(backend.id(), [&] { return Kernel{text}; }).text;
  };
  EXPECT_EQ(kernel_of(*one, "for one"), "for one");
  EXPECT_EQ(kernel_of(*other, "for the other"), "for the other");
  EXPECT_EQ(kernel_of(*one, "again"), "for one");

  // The processor's own instructions stand beside them.
  const Value x = numbers({4}, Device(plain_cpu()));
  Value y(make_ref<Node>(Desc{{4}, DType::F32}, x.device()));
  plain_cpu()->run(op::Fused{program}, {{&x, 1}, {&y, 1}});
  EXPECT_NEAR(y.data().at(3), std::exp(3e-4), 1e-6);
  EXPECT_EQ(program->cached<Instructions>().steps, 1u);
}

/// Says one thing and does another.
struct Misleading final : CustomOp {
  explicit Misleading(int results) : results(results) {}
  std::string name() const override { return "misleading"; }
  Descs infer(Inputs in) const override { return {{in[0].shape(), in[0].dtype()}}; }
  Values expand(Inputs in) const override { return Values(static_cast<std::size_t>(results), sum(in[0])); }
  int results;
};

TEST(Expansions, GiveWhatInferSays) {
  for (const Device& device : {Device(plain_cpu()), Device(make_ref<FewKernels>(plain_cpu()))}) {
    const Value x = numbers({3}, device);
    EXPECT_THROW((void)emit(op::Custom{make_ref<Misleading>(2)}, {x}), ArgumentError);
    EXPECT_THROW((void)emit(op::Custom{make_ref<Misleading>(1)}, {x}), ShapeError);
  }
}

}  // namespace
}  // namespace kiln::test

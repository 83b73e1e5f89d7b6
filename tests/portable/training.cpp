// What a browser or a microcontroller does with Fusion: a small network learns, operations are gathered, planned and
// run, and an error says the same as on a host.
#include <cmath>
#include <cstdlib>

#include "kiln/core/error/error_handler.hpp"
#include "kiln/fusion/fusion.hpp"
#include "kiln/nn.hpp"
#include "kiln/ops/index/embedding.hpp"
#include "kiln/ops/op.hpp"
#include "kiln/optim/rules/sgd.hpp"
#include "tests/portable/expect.hpp"

namespace kiln::test {
namespace {

/// The portable processor, of which a planner makes what `traits` say, and a count of what reaches it.
class Counting final : public Decorator {
 public:
  explicit Counting(FusionTraits traits) : Decorator(processor()), traits_(std::move(traits)) {}
  static Ref<Backend> processor() { return Device::parse("reference").handle(); }

  FusionTraits fusion_traits() const override { return traits_; }
  void run(const op::Op& op, Call call) override {
    planned += op::visit(op, []<class T>(const T&) { return op::Planned<T>; });
    ++runs;
    inner_->run(op, call);
  }
  Ref<Backend> with_core(Wrap wrap) override { return wrap(Ref<Backend>(this)); }

  int runs = 0, planned = 0;

 private:
  const FusionTraits traits_;
};

FusionTraits all_passes() {
  return {.max_ops = 4096,
          .max_bytes = 1 << 30,
          .repeats_within = 16,
          .groups = FusionTraits::Groups{.max_inputs = 8,
                                         .max_steps = 64,
                                         .reductions = {op::ReduceFn::Sum, op::ReduceFn::Mean},
                                         .reduced_types = {DType::F32}},
          .epilogues = FusionTraits::Epilogues{.types = {DType::F32}},
          .blocks = FusionTraits::Blocks{.min_elements = 64, .block = 16, .max_row = 64, .min_blocks = 4},
          .batching = FusionTraits::Batching{.max_each = 64, .max_total = 256, .max_distance = 64}};
}

struct Network {
  nn::Linear hidden, out;

  /// x [batch, 2] -> [batch, 1]
  Tensor<2> forward(const Tensor<2>& x) const { return out.forward(hidden.forward(x).tanh()); }
};

/// sin(i * step) or cos(i * step), for i from 0 on.
Tensor<2> wave(double (*function)(double), double step, std::int64_t rows, std::int64_t columns, const Device& device) {
  std::vector<float> elements;
  for (std::int64_t i = 0; i < rows * columns; ++i)
    elements.push_back(static_cast<float>(function(static_cast<double>(i) * step)));
  return Tensor<2>::of(elements, {rows, columns}, device);
}

/// The losses of 100 steps towards exclusive or.
std::vector<float> train(const Device& device) {
  Network network{
      .hidden = {.weight = nn::Param<2>(wave(std::sin, 0.7, 4, 2, device)), .bias = nn::Param<1>(zeros({4}, device))},
      .out = {.weight = nn::Param<2>(wave(std::cos, 0.9, 1, 4, device)), .bias = nn::Param<1>(zeros({1}, device))}};
  const Device plain = device.inner();
  const auto x = Tensor<2>::of({{0, 0}, {0, 1}, {1, 0}, {1, 1}}, plain);
  const auto y = Tensor<2>::of({{0}, {1}, {1}, {0}}, plain);
  auto sgd = SgdConfig{.momentum = 0.9}.init(network);
  std::vector<float> losses;
  for (int step = 0; step < 100; ++step) {
    auto [loss, grads] =
        value_and_grad(network, [&](const Network& each) { return nn::MseLoss{}.forward(each.forward(x), y); });
    network = sgd.step(0.1, std::move(network), grads);
    losses.push_back(loss.item());
  }
  return losses;
}

// The losses of step 0, 9 and 99, by PyTorch in float64:
//   w1 = (torch.arange(8.) * 0.7).sin().reshape(4, 2).requires_grad_(); b1 = torch.zeros(4, requires_grad=True)
//   w2 = (torch.arange(4.) * 0.9).cos().reshape(1, 4).requires_grad_(); b2 = torch.zeros(1, requires_grad=True)
//   optimizer = torch.optim.SGD([w1, b1, w2, b2], lr=0.1, momentum=0.9)
//   loss = ((torch.tanh(x @ w1.T + b1) @ w2.T + b2 - y) ** 2).mean()
bool learns(const std::vector<float>& losses) {
  return std::abs(losses[0] - 1.168442152) < 1e-5 && std::abs(losses[9] - 0.3267475449) < 1e-5 &&
         std::abs(losses[99] - 0.0002770911041) < 1e-6;
}

void network_learns() {
  const std::vector<float> unfused = train(Device::parse("reference").autodiff());
  expect(learns(unfused), "the reference's losses are PyTorch's");
  expect(train(Device::cpu().autodiff()) == unfused, "the device's losses are the reference's");

  const auto counting = make_ref<Counting>(all_passes());
  const auto fusion = make_ref<fusion::Fusion>(counting);
  const Device device(fusion, true);
  expect(train(device) == unfused, "with all passes, the losses are the reference's");
  const fusion::Fusion::Statistics statistics = fusion->statistics();
  expect(counting->runs < statistics.recorded, "fewer operations run than were asked for");
  expect(counting->planned > 0, "planned operations reach the device");
  expect(statistics.segments >= 100 && statistics.planned < 10, "a step is planned once");
  device.flush();
}

void operations_wait() {
  const Device device = Device::cpu();
  const auto x = Tensor<1>::of({1.f, 2.f, 4.f}, device);
  const auto y = (x * 2 + 1).sqrt();
  expect(device.handle()->state(y.value()) == Backend::State::Waiting, "nothing runs before somebody reads");
  expect(y.to_vector() == std::vector<float>{std::sqrt(3.f), std::sqrt(5.f), 3}, "what was gathered is computed");
}

/// The most memory that rows took on their way to `out`.
std::int64_t peak_of_rows(const Device& device, std::vector<float>& out) {
  const auto x = wave(std::sin, 0.01, 256, 64, device);
  device.reset_memory_peak();
  const std::int64_t before = device.memory().in_use;
  const auto y = ((x * x).exp() * 0.5).softmax(1) * x;
  out = y.to_vector();
  return device.memory().peak - before;
}

void rows_go_in_blocks() {
  std::vector<float> unfused, fused;
  const auto counting = make_ref<Counting>(Counting::processor()->fusion_traits());
  const std::int64_t at_once = peak_of_rows(Device(Counting::processor(), false), unfused);
  const std::int64_t in_blocks = peak_of_rows(Device(make_ref<fusion::Fusion>(counting), false), fused);
  expect(counting->runs == 1, "five steps are one, in blocks of rows");
  expect(fused == unfused, "rows in blocks are the same bits");
  for (std::size_t i = 0; i < fused.size(); i += 64) {
    double sum = 0;
    for (std::size_t k = i; k < i + 64; ++k) sum += std::exp(std::exp(std::pow(std::sin(0.01 * double(k)), 2)) * 0.5);
    const double x = std::sin(0.01 * double(i));
    const double expected = std::exp(std::exp(x * x) * 0.5) / sum * x;
    if (std::abs(fused[i] - expected) > 1e-6) return expect(false, "rows are what a loop over doubles gives");
  }
  expect(2 * in_blocks <= at_once, "rows in blocks need half of the memory");
}

[[noreturn]] void last_error(ErrorKind kind, const std::string& message) {
  expect(kind == ErrorKind::Index, "an index out of range is an error of its kind");
  expect(message.starts_with("embedding: "), "the error names the function that was called");
  if (wrong) std::printf("said: %s\n", message.c_str());
  std::exit(wrong ? 1 : 0);
}

}  // namespace
}  // namespace kiln::test

int main() {
  using namespace kiln;
  test::network_learns();
  test::operations_wait();
  test::rows_go_in_blocks();

  // Without exceptions an error ends the program, by the handler.
  set_error_handler(&test::last_error);
  const Device device = Device::cpu();
  const Value table = ones({4, 2}, device);
  const Value rows = embedding(table, Tensor<1, Int>::of({std::int64_t{9}}, device).value());
  test::expect(device.handle()->state(rows) == Backend::State::Waiting, "the wrong index waits with the others");
  (void)rows.data();
  test::expect(false, "a wrong index is an error");
  return 1;
}

// The example's kernels on every device that there is, against loops over doubles and what the operations are made of; and
// the program itself.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <sstream>

#include "kiln/ops/devices.hpp"
#include "tests/examples/custom_kernel.hpp"
#include "tests/support/sentence.hpp"

using namespace kiln;
using test::numbers;
using test::tensor;

namespace {

/// Or those that KILN_TEST_DEVICES names.
std::vector<Device> all_devices() {
  if (const char* const wanted = std::getenv("KILN_TEST_DEVICES")) {
    std::vector<Device> named;
    std::istringstream names(wanted);
    for (std::string name; std::getline(names, name, ',');) named.push_back(Device::parse(name));
    return named;
  }
  std::vector<Device> all{Device::cpu(), Device::parse("simulated")};
  if (Device::best().name() == "cuda") all.push_back(Device::best());
  return all;
}
bool has_kernels(const Device& device) { return device.name() != "cpu"; }

/// Of which there is no other way than the kernel.
template <class Op>
struct KernelAlone : Op {
  std::string name() const { return "kernel alone"; }
  auto expand(Inputs) const -> decltype(std::declval<Op>().expand({})) { fail<ArgumentError>("there is a kernel"); }
};

double gelu(double x) { return 0.5 * x * (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x))); }

// ---- linear_gelu ---------------------------------------------------------------------------------------------------

struct Sizes {
  std::int64_t rows, depth, columns;
};

TEST(LinearGelu, IsItsFormula) {
  for (const Device& device : all_devices())
    for (const auto& [rows, depth, columns] : {Sizes{1, 1, 1}, {64, 16, 64}, {70, 33, 65}, {3, 0, 5}, {0, 4, 5}})
      for (const DType dtype : {DType::F32, DType::F64, DType::BF16}) {
        const auto x = numbers(rows * depth, 1, -1, 1), w = numbers(depth * columns, 2, -1, 1);
        const auto b = numbers(columns, 3, -1, 1);
        const Value on[] = {tensor(x, {rows, depth}, device, dtype), tensor(w, {depth, columns}, device, dtype),
                            tensor(b, {columns}, device, dtype)};
        const Values found = has_kernels(device) ? custom_all(KernelAlone<LinearGelu>{}, on[0], on[1], on[2])
                                                 : custom_all(LinearGelu{}, on[0], on[1], on[2]);
        const auto of = [&](int i) { return cast(on[i], DType::F64).data().to_vector<double>(); };
        const auto xs = of(0), ws = of(1), bs = of(2), ys = cast(found[0], DType::F64).data().to_vector<double>();
        for (std::int64_t i = 0; i < rows; ++i)
          for (std::int64_t j = 0; j < columns; ++j) {
            double sum = bs[std::size_t(j)];
            for (std::int64_t d = 0; d < depth; ++d)
              sum += xs[std::size_t(i * depth + d)] * ws[std::size_t(d * columns + j)];
            const double bound = dtype == DType::F64 ? 1e-12 : dtype == DType::F32 ? 2e-5 : 0.05;
            ASSERT_NEAR(ys[std::size_t(i * columns + j)], gelu(sum), bound) << text(device, ' ', i, ' ', j);
          }
      }
}

TEST(LinearGelu, ReadsOperandsInAnyOrder) {
  for (const Device& device : all_devices()) {
    const Value x = tensor(numbers(12, 1, -1, 1), {3, 4}, device), w = tensor(numbers(20, 2, -1, 1), {5, 4}, device),
                b = tensor(numbers(5, 3, -1, 1), {5}, device);
    const auto once = custom_all(LinearGelu{}, x, transpose(w, 0, 1), b)[0].data().to_vector<double>();
    const auto plain = gelu_tanh(matmul(x, transpose(w, 0, 1)) + b).data().to_vector<double>();
    for (std::size_t i = 0; i < plain.size(); ++i) EXPECT_NEAR(once[i], plain[i], 1e-12) << device.name();
  }
}

TEST(LinearGelu, SaysWhatDoesNotFit) {
  const Value x = zeros({2, 3}, Device::cpu()).value(), b = zeros({4}, Device::cpu()).value();
  EXPECT_EQ(sentence_of([&] { return custom_all(LinearGelu{}, x, x, b); }),
            "ShapeError: LinearGelu: float32 [2, 3] x float32 [2, 3] + float32 [4] do not fit");
}

// ---- state_scan ----------------------------------------------------------------------------------------------------

TEST(StateScan, IsALoopOverTime) {
  for (const Device& device : all_devices())
    for (const Shape& shape : {Shape{1, 1, 1}, Shape{2, 5, 3}, Shape{2, 37, 40}, Shape{1, 8, 32}, Shape{0, 3, 2}})
      for (const bool backwards : {false, true})
        for (const DType dtype : {DType::F32, DType::F64}) {
          const auto a = numbers(numel(shape), 1, -1.1, 1.1), x = numbers(numel(shape), 2, -1, 1);
          const Value on[] = {tensor(a, shape, device, dtype), tensor(x, shape, device, dtype)};
          const Value found = has_kernels(device) ? custom_all(KernelAlone<StateScan>{{backwards}}, on[0], on[1])[0]
                                                  : custom_all(StateScan{backwards}, on[0], on[1])[0];
          const auto h = cast(found, DType::F64).data().to_vector<double>();
          const std::int64_t time = shape[1], channels = shape[2];
          for (std::int64_t n = 0; n < shape[0]; ++n)
            for (std::int64_t c = 0; c < channels; ++c) {
              double state = 0;
              for (std::int64_t step = 0; step < time; ++step) {
                const auto i = std::size_t((n * time + (backwards ? time - 1 - step : step)) * channels + c);
                state = a[i] * state + x[i];
                ASSERT_NEAR(h[i], state, dtype == DType::F64 ? 1e-12 : 2e-5) << text(device, ' ', shape, ' ', i);
              }
            }
        }
}

// ---- gradients -----------------------------------------------------------------------------------------------------

/// sum(weights f(operands)), and its gradient by each operand's elements, against finite differences.
void expect_gradients(const Device& device, const std::vector<Shape>& shapes,
                      const std::function<Value(const Values&)>& f) {
  std::vector<std::vector<double>> points;
  for (std::size_t i = 0; i < shapes.size(); ++i)
    points.push_back(numbers(numel(shapes[i]), 1 + static_cast<double>(i), -0.9, 0.9));
  const auto loss = [&](bool tracked, Values* operands) {
    Values all;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const Value x = tensor(points[i], shapes[i], device);
      all.push_back(tracked ? x.require_grad() : x);
    }
    const Value y = f(all);
    if (operands) *operands = all;
    return sum(y * tensor(numbers(y.numel(), 9, -1, 1), y.shape(), device));
  };
  Values operands;
  const Gradients grads = backward(loss(true, &operands));
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const auto found = grads.of(operands[i]).data().to_vector<double>();
    for (std::size_t j = 0; j < found.size(); j += 1 + found.size() / 12) {
      const double h = 1e-6, at = points[i][j];
      points[i][j] = at + h;
      const double above = loss(false, nullptr).data().to_vector<double>()[0];
      points[i][j] = at - h;
      const double below = loss(false, nullptr).data().to_vector<double>()[0];
      points[i][j] = at;
      EXPECT_NEAR(found[j], (above - below) / (2 * h), 2e-7) << device.name() << ", operand " << i << ", element " << j;
    }
  }
}

TEST(CustomKernels, HaveTheGradientsOfFiniteDifferences) {
  for (const Device& device : all_devices()) {
    expect_gradients(device.autodiff(), {{5, 4}, {4, 3}, {3}},
                     [](const Values& in) { return custom_all(LinearGelu{}, in[0], in[1], in[2])[0]; });
    for (const bool backwards : {false, true})
      expect_gradients(device.autodiff(), {{2, 9, 3}, {2, 9, 3}},
                       [&](const Values& in) { return custom_all(StateScan{backwards}, in[0], in[1])[0]; });
  }
}

// A gradient's gradient: of sum of squares of the gradient.
TEST(CustomKernels, HaveSecondGradients) {
  for (const Device& device : all_devices()) {
    const auto first = [](const Value& loss, const Value& by) { return backward(loss, {.create_graph = true}).of(by); };
    expect_gradients(device.autodiff(), {{3, 2}, {2, 2}, {2}}, [&](const Values& in) {
      if (!in[0].tracked()) {
        const Value x = in[0].require_grad();
        return first(sum(square(custom_all(LinearGelu{}, x, in[1], in[2])[0])), x);
      }
      return first(sum(square(custom_all(LinearGelu{}, in[0], in[1], in[2])[0])), in[0]);
    });
    expect_gradients(device.autodiff(), {{1, 5, 2}, {1, 5, 2}}, [&](const Values& in) {
      const Value a = in[0].tracked() ? in[0] : in[0].require_grad();
      return first(sum(square(custom_all(StateScan{}, a, in[1])[0])), a);
    });
  }
}

// ---- that of docs/kernels.md ---------------------------------------------------------------------------------------

struct TwiceKernel {
  DType dtype;
  gpu::Kernel kernel() const {
    gpu::Builder k("twice", 256);
    const gpu::Buffer x = k.input(dtype), y = k.output(dtype);
    const gpu::Expr count = k.number(DType::I64), i = k.place(DType::I64);
    k.when(i < count, [&] { y.store(i, x[i] * 2); });
    return k.finish();
  }
};
struct Twice {
  Desc infer(Inputs in) const { return like(in[0]); }
  Value expand(Inputs in) const { return in[0] * 2; }
  Values vjp(Inputs, Inputs, Inputs grad) const { return {custom_all(Twice{}, grad[0])[0]}; }
  bool run(std::string_view backend, Call call) const {
    gpu::Gpu* const gpu = gpu::as_gpu(backend);
    if (!gpu) return false;
    Value held;
    const gpu::Array x = gpu->read_contiguous(call.in[0], held), y = gpu->allocate(call.out[0]);
    gpu->launch(TwiceKernel{x.dtype}, gpu::blocks_for(x.numel(), 256), {x, y, x.numel()});
    return true;
  }
};

TEST(CustomKernels, OfTheDocumentation) {
  for (const Device& device : all_devices())
    for (const DType dtype : {DType::F64, DType::F16, DType::I8}) {
      const Value x = cast(tensor(numbers(600, 1, -20, 20), {600}, device), dtype);
      const auto once = cast(x, DType::F64).data().to_vector<double>();
      const auto twice = cast(custom_all(Twice{}, x)[0], DType::F64).data().to_vector<double>();
      for (std::size_t i = 0; i < once.size(); ++i) ASSERT_EQ(twice[i], 2 * once[i]) << text(device, ' ', dtype);
    }
}

// ---- mistakes ------------------------------------------------------------------------------------------------------

struct Careless {
  int how;
  Desc infer(Inputs in) const { return like(in[0]); }
  Value expand(Inputs in) const { return in[0]; }
  struct Source {
    int how;
    gpu::Kernel kernel() const {
      gpu::Builder k("careless", 64);
      const gpu::Buffer x = k.input(DType::F32), y = k.output(DType::F32);
      if (how == 0) y.store(k.thread(), x[k.thread()]);  // beyond the end
      else y.store(k.thread(), k.thread() + k.literal(DType::I64, 1));
      return k.finish();
    }
  };
  struct Text {
    int how;
    gpu::TextKernel text() const { return {.name = "careless", .text = "nothing", .buffers = 2}; }
  };
  bool run(std::string_view backend, Call call) const {
    gpu::Gpu* const gpu = gpu::as_gpu(backend);
    if (!gpu) return false;
    Value held;
    const gpu::Array x = gpu->read_contiguous(call.in[0], held), y = gpu->allocate(call.out[0]);
    if (how == 2) gpu->launch(Text{how}, 1, {x, y});
    else gpu->launch(Source{how}, 1, {x, y});
    return true;
  }
};

TEST(CustomKernels, ThatAreWrongNameTheOperation) {
  const Value x = zeros({10}, Device::parse("simulated")).value();
  const auto said = [&](int how) { return sentence_of([&] { return custom_all(Careless{how}, x)[0].data(); }); };
  EXPECT_EQ(said(0),
            "DeviceError: Careless: kernel careless, block 0: thread 10 touches element 10 of parameter 0, a buffer of "
            "float32 where elements 0 to before 10 are");
  EXPECT_EQ(said(1), "ArgumentError: Careless: kernel: int32 meets int64");
  EXPECT_EQ(said(2), "DeviceError: Careless: simulated takes no text, and kernel careless is CUDA C++");
}

TEST(CustomKernels, AreOfNoGpuOutsideOfAnOperation) {
  EXPECT_EQ(gpu::as_gpu("simulated"), nullptr);
  EXPECT_EQ(gpu::as_gpu("cpu"), nullptr);
}

// ---- the model -----------------------------------------------------------------------------------------------------

TEST(CustomKernels, TrainAModelAsWhatTheyAreMadeOfDoes) {
  std::vector<double> losses[2];
  for (const int which : {0, 1}) {
    const Device device = (which ? Device::parse("simulated") : Device::cpu()).autodiff();
    StateModel model = make_model(8, false, device);
    const auto set = [&](nn::Linear& linear, double seed) {
      const Shape shape = linear.weight.value().shape();
      linear.weight = linear.weight.with_value(
          Tensor<2>(tensor(numbers(numel(shape), seed, -0.6, 0.6), shape, device, DType::F32)));
      linear.bias =
          linear.bias.with_value(Tensor<1>(tensor(numbers(shape[0], seed, -0.1, 0.1), {shape[0]}, device, DType::F32)));
    };
    set(model.features, 1);
    set(model.gate, 2);
    set(model.input, 3);
    set(model.output, 4);
    Adam adam = AdamConfig{}.init(model);
    const Tensor<3> x(tensor(numbers(4 * 10 * 2, 5, 0, 1), {4, 10, 2}, device, DType::F32));
    const Tensor<1> target(tensor(numbers(4, 6, 0, 1), {4}, device, DType::F32));
    for (int step = 0; step < 6; ++step) {
      auto [error, grads] =
          value_and_grad(model, [&](const StateModel& m) { return nn::MseLoss{}.forward(m.forward(x), target); });
      model = adam.step(0.01, std::move(model), grads);
      losses[which].push_back(static_cast<double>(error.item()));
    }
  }
  EXPECT_LT(losses[0].back(), 0.7 * losses[0].front());
  for (std::size_t i = 0; i < losses[0].size(); ++i) EXPECT_NEAR(losses[1][i], losses[0][i], 1e-4 * losses[0][0]);
}

// The last line: "step  600: error 0.0012"; whoever answers with the mean has 0.167.
TEST(CustomKernelProgram, LearnsToAddWhatIsMarked) {
  std::FILE* pipe = popen("OMP_NUM_THREADS=1 " CUSTOM_KERNEL_PROGRAM, "r");
  ASSERT_NE(pipe, nullptr);
  int step = 0;
  double error = 1;
  char line[256];
  while (std::fgets(line, sizeof line, pipe)) ASSERT_EQ(std::sscanf(line, "step %d: error %lf", &step, &error), 2);
  ASSERT_EQ(pclose(pipe), 0);
  EXPECT_EQ(step, 600);
  EXPECT_LT(error, 0.02);
}

}  // namespace

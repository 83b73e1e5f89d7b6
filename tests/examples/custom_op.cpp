// The example's operation on every path that an operation takes, and the program itself.
#include "examples/custom_op/snake.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "tests/support/sentence.hpp"

using namespace kiln;

namespace {

double snake(double x, double a) { return x + std::sin(a * x) * std::sin(a * x) / a; }

TEST(Snake, HasTheSameValuesFromItsKernelAndItsExpansion) {
  for (const char* name : {"cpu", "reference"})
    for (const DType dtype : {DType::F32, DType::F64, DType::F16}) {
      const Device device = Device::parse(name);
      const auto wide = linspace(-3, 3, 2 * 5000, device).reshape(2, 5000).to(dtype);
      const auto a = Tensor<0>::full({}, 1.5, device, dtype);
      for (const auto& x : {wide, wide.t()}) {
        const auto y = custom(Snake{}, x, a).to_vector<double>(), from = x.to_vector<double>();
        for (std::size_t i = 0; i < y.size(); ++i)
          ASSERT_NEAR(y[i], snake(from[i], 1.5), dtype == DType::F16 ? 4e-3 : 2e-6) << name << ' ' << i;
      }
    }
}

TEST(Snake, HasTheGradientsOfItsFormula) {
  for (const char* name : {"cpu", "reference"}) {
    const Device device = Device::parse(name).autodiff();
    const auto x = Tensor<1>::of({-1.2, 0.3, 2}, device, DType::F64).require_grad();
    const auto a = Tensor<0>::full({}, 1.5, device, DType::F64).require_grad();
    const auto grads = (custom(Snake{}, x, a) * Tensor<1>::of({1, 2, 3}, device, DType::F64)).sum().backward();
    const double h = 1e-6, points[] = {-1.2, 0.3, 2};
    double of_a = 0;
    const auto of_x = grads.of(x).to_vector<double>();
    for (std::size_t i = 0; i < 3; ++i) {
      const double weight = static_cast<double>(i + 1);
      EXPECT_NEAR(of_x[i], weight * (snake(points[i] + h, 1.5) - snake(points[i] - h, 1.5)) / (2 * h), 1e-8);
      of_a += weight * (snake(points[i], 1.5 + h) - snake(points[i], 1.5 - h)) / (2 * h);
    }
    EXPECT_NEAR(grads.of(a).item<double>(), of_a, 1e-8);
  }
}

TEST(Snake, HasASecondGradient) {
  const auto x = Tensor<1>::of({0.7}, Device::cpu().autodiff(), DType::F64).require_grad();
  const auto a = Tensor<0>::full({}, 1.5, Device::cpu(), DType::F64);
  const auto first = custom(Snake{}, x, a).sum().backward({.create_graph = true}).of(x);
  EXPECT_NEAR(first.sum().backward().of(x).to_vector<double>()[0], 2 * 1.5 * std::cos(2 * 1.5 * 0.7), 1e-12);
}

TEST(Snake, CanBeCapturedAndReplayed) {
  const auto a = Tensor<0>::full({}, 2.0, Device::cpu().autodiff()).require_grad();
  const auto x = ones({3}, Device::cpu());
  const auto graph = capture([&](const Tensor<1>& in) { return custom(Snake{}, in, a).sum(); }, x);
  EXPECT_NE(graph.text().find("%2 = Snake(%0, %1)  float32 [3]"), std::string::npos) << graph.text();
  EXPECT_NEAR(graph(x).item(), 3 * snake(1, 2), 1e-5);
  EXPECT_EQ(graph(x).backward().of(a).item(), custom(Snake{}, x, a).sum().backward().of(a).item());
}

TEST(Snake, SaysWhatIsWrong) {
  const auto x = ones({3}, Device::cpu());
  EXPECT_EQ(sentence_of([&] { return custom(Snake{}, x, x); }),
            "ShapeError: Snake: the frequency float32 [3] must be one element of the type of float32 [3]");
}

struct ForgetsOne : Snake {
  Values vjp(Inputs, Inputs, Inputs grad) const { return {grad[0]}; }
};
struct GivesAnotherShape : Snake {
  Values vjp(Inputs, Inputs, Inputs grad) const { return {sum(grad[0]), reshape(grad[0], {1, -1})}; }
};

TEST(CustomGradients, OfTheWrongNumberOrShapeAreSentences) {
  const Device device = Device::cpu().autodiff();
  const auto x = ones({2, 3}, device).require_grad();
  const auto a = Tensor<0>::full({}, 1.0, device).require_grad();
  EXPECT_EQ(sentence_of([&] { return custom(ForgetsOne{}, x, a).sum().backward(); }),
            "ArgumentError: ForgetsOne: vjp gave 1 gradients for 2 operands");
  EXPECT_EQ(sentence_of([&] { return custom(GivesAnotherShape{}, x, a).sum().backward(); }),
            "ShapeError: GivesAnotherShape: vjp gave float32 [] as the gradient of operand 0, float32 [2, 3]");
}

// The last line: "step 2000: error 0.0001 where it learned, 0.0123 beyond, frequency 2.345".
TEST(CustomOpProgram, LearnsTheWaveAndContinuesIt) {
  std::FILE* pipe = popen("OMP_NUM_THREADS=1 " CUSTOM_OP_PROGRAM, "r");
  ASSERT_NE(pipe, nullptr);
  std::string line, last;
  for (int letter = std::fgetc(pipe); letter != EOF; letter = std::fgetc(pipe)) {
    if (letter != '\n') {
      line += static_cast<char>(letter);
      continue;
    }
    last = line;
    line.clear();
  }
  ASSERT_EQ(pclose(pipe), 0);
  int step = 0;
  double seen = 1, ahead = 1;
  ASSERT_EQ(std::sscanf(last.c_str(), "step %d: error %lf where it learned, %lf beyond", &step, &seen, &ahead), 3)
      << last;
  EXPECT_EQ(step, 2000);
  EXPECT_LT(seen, 0.01) << last;
  EXPECT_LT(ahead, 0.25) << last;  // a network of tanh or relu has 0.5 and more there
}

}  // namespace

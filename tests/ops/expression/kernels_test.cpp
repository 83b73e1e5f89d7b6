// Kernels of fused programs: compiled as C++ and as CUDA's C++, they give the bits that the reference gives one
// operation at a time; as GLSL and WGSL they are accepted by those languages' compilers.
#include "kiln/ops/expression/kernel.hpp"

#include <gtest/gtest.h>

#include <deque>

#include "kiln/core/error/error.hpp"
#include "kiln/ops/elementwise/enumerators.hpp"
#include "kiln/ops/functions.hpp"
#include "tests/ops/expression/printed.hpp"
#include "tests/ops/expression/programs.hpp"
#include "tests/ops/expression/validate.hpp"

namespace kiln::expr {
namespace {

/// Small numbers of any type, among them the edges of each.
TensorData contents(const Shape& shape, DType dtype, unsigned seed) {
  TensorData data(shape, dtype);
  std::mt19937 engine(seed);
  visit_dtype(dtype, [&]<class E>(TypeTag<E>) {
    for (E& element : data.as<E>()) {
      if constexpr (std::is_same_v<E, bool>) element = engine() % 2;
      else if constexpr (std::is_integral_v<E>) {
        static const std::vector<E> kEdges = edges<E>();
        element = engine() % 3 ? static_cast<E>(engine() % 21) : kEdges[engine() % kEdges.size()];
      } else {
        using Real = std::conditional_t<is_half<E>, float, E>;
        static const std::vector<Real> kEdges = edges<Real>();
        const double plain = (static_cast<double>(engine()) / 4294967296.0 - 0.4) * 6;
        element = E(engine() % 4 ? static_cast<Real>(plain) : kEdges[engine() % kEdges.size()]);
      }
    }
  });
  return data;
}

struct Case {
  explicit Case(unsigned seed) : random(make_program(seed)) {
    const Device reference = Device::parse("reference");
    Values operands;
    for (std::size_t i = 0; i < random.inputs.size(); ++i) {
      const DType dtype = random.program->inputs[i];
      if (random.inputs[i].number) {
        operands.push_back(is_float(dtype) ? Value(0.3) : Value(3));
        numbers.push_back(TensorData({1}, computed_in(dtype)));
        visit_computed(dtype,
                       [&]<class T>(TypeTag<T>) { numbers.back().as<T>()[0] = operands.back().scalar().to<T>(); });
        pointers.push_back(nullptr);
      } else {
        tensors.push_back(contents(random.shapes[i], dtype, seed * 31 + static_cast<unsigned>(i)));
        operands.push_back(expand(from_data(tensors.back(), reference), random.program->shape));
        pointers.push_back(tensors.back().bytes().data());
      }
    }
    for (const Value& result : op::Fused{random.program}.expand(operands)) expected.push_back(result.data());
  }
  /// What the kernel makes of the same operands.
  std::vector<TensorData> run(void (*kernel)(void* const*, unsigned long long), std::int64_t count) {
    std::vector<TensorData> results;
    for (const TensorData& result : expected) results.emplace_back(result.shape(), result.dtype());
    for (TensorData& result : results) pointers.push_back(result.bytes().data());
    std::vector<void*> arguments;
    std::size_t number = 0;
    for (std::size_t i = 0; i < pointers.size(); ++i) {
      const bool is_number = i < random.inputs.size() && random.inputs[i].number;
      arguments.push_back(is_number ? static_cast<void*>(numbers[number++].bytes().data()) : &pointers[i]);
    }
    kernel(arguments.data(), static_cast<unsigned long long>(count));
    pointers.resize(random.inputs.size());
    return results;
  }

  RandomProgram random;
  std::vector<TensorData> numbers, expected;
  std::deque<TensorData> tensors;
  std::vector<std::byte*> pointers;
};

/// The same bits but for NaNs; sums and products of rows of floats within rounding, as the reference has a wider sum.
void expect_same(const TensorData& found, const TensorData& expected, bool sum, const std::string& what) {
  visit_dtype(expected.dtype(), [&]<class E>(TypeTag<E>) {
    for (std::size_t i = 0; i < expected.as<E>().size(); ++i) {
      const E a = found.as<E>()[i], b = expected.as<E>()[i];
      bool agrees = false;
      if constexpr (std::is_integral_v<E>) agrees = a == b;
      else if (!sum) agrees = same(static_cast<double>(a), static_cast<double>(b));
      else agrees = distance(static_cast<double>(a), static_cast<double>(b)) < (sizeof(E) == 2 ? 0.01 : 1e-4);
      ASSERT_TRUE(agrees) << what << "[" << i << "]: " << static_cast<double>(a) << ", expected "
                          << static_cast<double>(b);
    }
  });
}

TEST(PrintedKernels, GiveTheBitsOfTheirStepsOneByOne) {
  int folding = 0, halves = 0;
  for (unsigned seed = 0; seed < kPrograms; ++seed) {
    Case program(seed);
    const op::Program& steps = *program.random.program;
    const std::int64_t count = print_kernel(steps, program.random.inputs, kCpp, "k").elements;
    for (const auto kernel : {kPrintedPrograms[seed].cpp, kPrintedPrograms[seed].cuda}) {
      const std::vector<TensorData> results = program.run(kernel, count);
      for (std::size_t i = 0; i < results.size(); ++i) {
        const bool sum = i >= steps.outputs.size() && is_float(results[i].dtype()) &&
                         steps.folds[i - steps.outputs.size()].fn <= op::ReduceFn::Prod;
        expect_same(results[i], program.expected[i], sum,
                    text("program ", seed, kernel == kPrintedPrograms[seed].cuda ? " of CUDA" : "", ", result ", i));
      }
    }
    folding += !steps.folds.empty();
    for (const auto& step : steps.steps) halves += step.dtype == DType::F16 || step.dtype == DType::BF16;
  }
  EXPECT_GT(folding, 5);
  EXPECT_GT(halves, 30);
}

TEST(PrintedKernels, CastAsTheReferenceDoes) {
  for (unsigned seed = kPrograms; seed < kAllPrograms; ++seed) {
    Case program(seed);
    const std::vector<TensorData> results = program.run(kPrintedPrograms[seed].cpp, 400);
    expect_same(results[0], program.expected[0], false,
                text(name(program.random.program->inputs[0]), " to ", name(results[0].dtype())));
  }
}

template <class Complain>
void expect_accepted(const Dialect& dialect, unsigned most, Complain complain) {
  unsigned accepted = 0;
  for (unsigned seed = 0; seed < kPrograms && accepted < most; ++seed) {
    const RandomProgram random = make_program(seed);
    if (!supports(dialect, *random.program)) continue;
    const std::string text = print_kernel(*random.program, random.inputs, dialect, "fused").text;
    const std::string complaints = complain(text);
    if (complaints == kNoValidator) GTEST_SKIP() << "no compiler of " << dialect.name << ": see validate.hpp";
    ASSERT_EQ(complaints, "") << "program " << seed << "\n" << text;
    ++accepted;
  }
  EXPECT_EQ(accepted, most);
}

TEST(PrintedKernels, AreAcceptedByTheCompilerOfGlsl) { expect_accepted(kGlsl, 16, complaints_of_glslang); }
TEST(PrintedKernels, AreAcceptedByTheCompilerOfWgsl) { expect_accepted(kWgsl, 8, complaints_of_wgsl); }

/// gelu(x + bias) in bfloat16, and whether it is above a number.
RandomProgram example(DType dtype) {
  RandomProgram made{std::make_shared<op::Program>(), {}, {}};
  op::Program& program = *made.program;
  using Operand = op::ProgramOperand;
  program.shape = {8, 12};
  program.inputs = {dtype, dtype, dtype};
  program.steps.push_back(
      {op::Binary{op::BinaryFn::Add}, {Operand{Operand::Input, 0}, Operand{Operand::Input, 1}}, dtype});
  program.steps.push_back({op::Unary{op::UnaryFn::Gelu}, {Operand{Operand::Result, 0}}, dtype});
  program.steps.push_back(
      {op::Binary{op::BinaryFn::Greater}, {Operand{Operand::Result, 1}, Operand{Operand::Input, 2}}, DType::Bool});
  program.outputs = {1, 2};
  made.inputs = {{.strides = {12, 1}}, {.strides = {0, 1}}, {.number = true}};
  return made;
}

TEST(PrintedKernels, AreAsStored) {
  if (!kOrderIsThatOfStoredTexts) GTEST_SKIP() << kOtherOrder;
  for (const Dialect* dialect : {&kCpp, &kCuda, &kHip, &kGlsl, &kWgsl}) {
    const RandomProgram made = example(DType::BF16);
    const KernelText kernel = print_kernel(*made.program, made.inputs, *dialect, "bias_gelu");
    expect_stored(text("kernel_", dialect->name == "C++" ? "cpp" : dialect->name, ".txt"), kernel.text);
    EXPECT_EQ(kernel.elements, 96);
    EXPECT_EQ(kernel.each, dialect == &kWgsl ? 4 : 1);
  }
}

TEST(PrintedKernels, SayWhatADialectLacks) {
  const RandomProgram made = example(DType::F64);
  EXPECT_TRUE(supports(kCuda, *made.program));
  EXPECT_FALSE(supports(kWgsl, *made.program));
  EXPECT_FALSE(supports(kGlsl, *made.program));
  EXPECT_THROW(print_kernel(*made.program, made.inputs, kWgsl, "k"), DTypeError);
}

}  // namespace
}  // namespace kiln::expr

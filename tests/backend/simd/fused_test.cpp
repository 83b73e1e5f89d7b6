// Fused programs against the same steps one by one: the same bits, whatever the shapes, operands and steps.
#include <algorithm>
#include <cmath>
#include <vector>

#include "kiln/backend/cpu/simd/elementwise/stream.hpp"
#include "kiln/core/random.hpp"
#include "kiln/ops/elementwise/enumerators.hpp"
#include "tests/backend/simd/program_writer.hpp"

namespace kiln::cpu::simd {
namespace {

using op::BinaryFn;
using op::UnaryFn;

std::vector<UnaryFn> unary_functions() {
  return {
#define KILN_UNARY(Name, ...) UnaryFn::Name,
#define KILN_PREDICATE(Name, ...) UnaryFn::Name,
#define KILN_BINARY(...)
#define KILN_COMPARISON(...)
#include "kiln/ops/elementwise/elementwise.def"
  };
}
std::vector<BinaryFn> binary_functions() {
  return {
#define KILN_UNARY(...)
#define KILN_PREDICATE(...)
#define KILN_BINARY(Name, ...) BinaryFn::Name,
#define KILN_COMPARISON(Name, ...) BinaryFn::Name,
#include "kiln/ops/elementwise/elementwise.def"
  };
}

/// Numbers that meet every case of a function: mostly small, some whole, zeros of both signs, infinite, NaN.
std::vector<double> awkward_numbers(std::int64_t count, Random& random) {
  const double special[] = {0.0, -0.0, 1, -1, 0.5, 2, -3, 1e-40, -1e30, 3e38, INFINITY, -INFINITY, NAN};
  std::vector<double> result;
  for (std::int64_t i = 0; i < count; ++i)
    result.push_back(random.below(8) == 0 ? special[random.below(std::size(special))] : random.uniform(-4, 4));
  return result;
}

/// A tensor that broadcasts to `shape`: of its full size in some memory order, or of size 1 in some dimensions.
Value operand_for(const Shape& shape, DType dtype, Random& random) {
  Shape own = shape;
  if (random.below(3) == 0)
    for (auto& size : own)
      if (random.below(2)) size = 1;
  std::vector<double> contents = awkward_numbers(numel(own), random);
  if (dtype == DType::Bool)
    for (double& number : contents) number = number > 0;
  Dims order;
  if (random.below(3) == 0)
    for (int i = own.size() - 1; i >= 0; --i) order.push_back(i);
  return tensor(dtype, own, contents, order);
}

Writer random_program(const Shape& shape, int steps, Random& random) {
  const std::vector<UnaryFn> unary = unary_functions();
  const std::vector<BinaryFn> binary = binary_functions();
  Writer writer(shape);
  writer.input(tensor(DType::F32, shape, awkward_numbers(numel(shape), random)));
  const auto any = [&](DType dtype) {
    if (random.below(6) == 0) return writer.input(operand_for(shape, dtype, random));
    for (int tries = 0; tries < 20; ++tries) {
      // Mostly what was made last.
      const auto back = random.below(2) ? random.below(writer.size()) : random.below(std::min(writer.size(), 3));
      const int value = writer.size() - 1 - static_cast<int>(back);
      if (writer.dtype(value) == dtype && !writer.is_number(value)) return value;
    }
    return writer.input(operand_for(shape, dtype, random));
  };
  const auto maybe_number = [&](DType dtype) {
    if (random.below(3)) return any(dtype);
    const double numbers[] = {2, 0.25, -0.5, 3, 0.1, -1.7, 0, 1};
    return writer.input(Value(numbers[random.below(std::size(numbers))]), dtype);
  };
  const auto step_of = [&]() -> int {
    const auto kind = random.below(12);
    if (kind == 0) return writer.step(op::Where{}, {any(DType::Bool), any(DType::F32), maybe_number(DType::F32)});
    if (kind == 1) return writer.step(op::Where{}, {any(DType::Bool), maybe_number(DType::F32), any(DType::F32)});
    if (kind == 2) return writer.step(op::Cast{DType::F32}, {any(DType::Bool)});
    if (kind == 3) return writer.step(op::Cast{DType::Bool}, {any(DType::F32)});
    for (;;) {
      if (random.below(2)) {
        const UnaryFn fn = unary[static_cast<std::size_t>(random.below(std::ssize(unary)))];
        if (op::domain(fn) == op::Domain::Integer) continue;
        return writer.step(op::Unary{fn}, {any(op::domain(fn) == op::Domain::Bool ? DType::Bool : DType::F32)});
      }
      const BinaryFn fn = binary[static_cast<std::size_t>(random.below(std::ssize(binary)))];
      if (op::domain(fn) == op::Domain::Integer) continue;
      const bool flags = op::domain(fn) == op::Domain::Bool || (op::domain(fn) == op::Domain::Any && random.below(2));
      if (flags) return writer.step(op::Binary{fn}, {any(DType::Bool), any(DType::Bool)});
      // No number below zero is a bound.
      if (fn == BinaryFn::SoftShrink) return writer.step(op::Binary{fn}, {any(DType::F32), any(DType::F32)});
      if (random.below(4) == 0) return writer.step(op::Binary{fn}, {maybe_number(DType::F32), any(DType::F32)});
      return writer.step(op::Binary{fn}, {any(DType::F32), maybe_number(DType::F32)});
    }
  };
  int last = 0;
  for (int i = 0; i < steps; ++i) {
    last = step_of();
    if (i + 1 < steps && random.below(5) == 0) writer.output(last);
  }
  writer.output(last);
  return writer;
}

TEST(SimdFused, GivesTheBitsOfItsStepsAlone) {
  std::uint64_t seed = 0;
  for_each_target([&] {
    for (const Shape& shape :
         {Shape{1}, Shape{7}, Shape{64}, Shape{127}, Shape{128}, Shape{129}, Shape{1000}, Shape{2, 3, 41},
          Shape{3, 700}, Shape{5, 257}, Shape{9, 130}, Shape{2, 2, 300}, Shape{40, 1027}}) {
      for (int steps = 1; steps <= 24; steps += 1 + steps / 3) {
        Random random(++seed);
        SCOPED_TRACE(text("seed ", seed));
        random_program(shape, steps, random).expect_same_bits();
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  });
}

TEST(SimdFused, TakesChainsOfAnyLength) {
  for_each_target([] {
    Random random(5);
    Writer writer({65});
    const int first = writer.input(tensor(DType::F32, {65}, random_numbers(65, -2, 2)));
    int last = first;
    for (int i = 0; i < 1200; ++i) {
      const int other = i % 7 == 0 ? first : writer.input(Value(random.uniform(-1, 1)), DType::F32);
      last = writer.step(op::Binary{i % 3 ? BinaryFn::Add : BinaryFn::Maximum}, {last, other});
      if (i % 300 == 10) writer.output(last);
    }
    writer.output(last);
    writer.expect_same_bits();
  });
}

TEST(SimdFused, KeepsWhatManyStepsWaitFor) {
  for_each_target([] {
    const Shape shape{3, 211};
    Writer writer(shape);
    const int x = writer.input(tensor(DType::F32, shape, random_numbers(633, -2, 2)));
    std::vector<int> waiting;
    for (int i = 0; i < 40; ++i)
      waiting.push_back(writer.step(op::Binary{BinaryFn::Mul}, {x, writer.input(Value(0.1 * i), DType::F32)}));
    int total = waiting[0];
    for (const int value : waiting) total = writer.step(op::Binary{BinaryFn::Sub}, {value, total});
    total = writer.step(op::Binary{BinaryFn::Mul}, {total, total});
    writer.output(total);
    writer.expect_same_bits();
  });
}

/// What single ops give in these types is of the same executor: the reference has a second opinion.
TEST(SimdFused, GivesWhatTheReferenceGivesInTypesOfTiles) {
  for_each_target([] {
    for (const DType dtype : {DType::F64, DType::F16, DType::BF16, DType::I64, DType::I32, DType::I16, DType::I8,
                              DType::U32, DType::U16, DType::U8})
      for (const std::int64_t columns : {5, 130, 999, 2500}) {
        SCOPED_TRACE(text(dtype, " [3, ", columns, "]"));
        const Shape shape{3, columns};
        const auto some = [&](const Shape& own, std::uint64_t seed) {
          std::vector<double> contents = random_numbers(numel(own), is_float(dtype) ? -9 : 0, 100, seed);
          return tensor(dtype, own, rounded(dtype, contents));
        };
        Writer writer(shape, StepsBy::Reference);
        const auto binary = [&](BinaryFn fn, int x, int y) { return writer.step(op::Binary{fn}, {x, y}); };
        const auto number = [&](double value) { return writer.input(Value(value), dtype); };
        const int x = writer.input(some(shape, 1)), row = writer.input(some({columns}, 2));
        const int column = writer.input(some({3, 1}, 3)), spread = writer.input(every(2, some({3, 2 * columns}, 4)));
        const int sum = binary(BinaryFn::Add, x, row), product = binary(BinaryFn::Mul, sum, number(3));
        const int larger = binary(BinaryFn::Maximum, product, column);
        const int flags = binary(BinaryFn::Less, larger, spread);
        const int chosen = writer.step(op::Where{}, {flags, larger, number(2)});
        const int squares = writer.step(op::Unary{UnaryFn::Square}, {chosen});
        const int whole = writer.step(op::Cast{DType::I64}, {squares});
        const int wide = writer.step(op::Cast{DType::F64}, {binary(BinaryFn::Sub, squares, spread)});
        for (const int output : {sum, flags, chosen, whole, wide}) writer.output(output);
        writer.expect_same_bits();
      }
  });
}

TEST(SimdFused, RoundsHalvesWhereTheyAreStoredOrCast) {
  for_each_target([] {
    for (const DType half : {DType::F16, DType::BF16}) {
      for (const Shape& shape : {Shape{5}, Shape{3, 999}, Shape{40, 128}}) {
        Random random(7);
        Writer writer(shape);
        const int x = writer.input(tensor(half, shape, awkward_numbers(numel(shape), random)));
        const int wide = writer.step(op::Cast{DType::F32}, {x});
        const int sum = writer.step(op::Binary{BinaryFn::Mul}, {wide, writer.input(Value(1.37), DType::F32)});
        const int rounded = writer.step(op::Cast{half}, {sum});
        const int again = writer.step(op::Cast{DType::F32}, {rounded});
        const int flag = writer.step(op::Binary{BinaryFn::Less}, {again, sum});
        for (const int output : {sum, rounded, again, flag}) writer.output(output);
        writer.expect_same_bits();
      }
    }
  });
}

TEST(SimdFused, DividesByNumbersAsDivisionDoes) {
  for_each_target([] {
    Random random(11);
    std::vector<double> x = awkward_numbers(4000, random);
    for (std::size_t i = 0; i < 2000; ++i) x[i] = std::ldexp(x[i], static_cast<int>(random.below(250)) - 125);
    const double divisors[] = {3, 10, 0.1, -1.4142135623730951, 2, 1e-30, 1e30, 3e-39, 0x1.fffffep3, 0x1.000002p0, 0};
    for (const double divisor : divisors) {
      Writer writer({4000});
      const int in = writer.input(tensor(DType::F32, {4000}, x));
      const int quotient = writer.step(op::Binary{BinaryFn::Div}, {in, writer.input(Value(divisor), DType::F32)});
      writer.output(quotient);
      writer.output(writer.step(op::Unary{UnaryFn::Neg}, {quotient}));
      writer.expect_same_bits();
    }
  });
}

TEST(SimdFused, DividesAllDigitsByNumbersAsDivisionDoes) {
  constexpr std::int64_t kCount = 1 << 23;
  std::vector<double> digits;
  for (std::int64_t i = 0; i < kCount; ++i) digits.push_back(static_cast<double>(kCount + i));
  const Value x = tensor(DType::F32, {kCount}, digits);
  // With products that round as quotients do for all, for all but one, and for most.
  for_each_target([&] {
    for (const double divisor : {1.4142135623730951, 0x1.ea935cp0, 0.1}) {
      Writer writer({kCount});
      const int in = writer.input(x);
      writer.output(writer.step(op::Binary{BinaryFn::Div}, {in, writer.input(Value(divisor), DType::F32)}));
      writer.expect_same_bits();
    }
  });
}

TEST(SimdFused, DividesRowsByNumbersOfTheirOwn) {
  for_each_target([] {
    Random random(12);
    const Shape shape{9, 1000};
    Writer writer(shape);
    const int x = writer.input(tensor(DType::F32, shape, awkward_numbers(numel(shape), random)));
    const int row = writer.input(tensor(DType::F32, {9, 1}, {3, 7e-4, -2, 1.1, 1e-25, 0, 1e25, INFINITY, 0.7}));
    writer.output(writer.step(op::Binary{BinaryFn::Div}, {writer.step(op::Unary{UnaryFn::Exp}, {x}), row}));
    writer.output(writer.step(op::Binary{BinaryFn::Div}, {x, row}));
    writer.expect_same_bits();
  });
}

/// Bytes and words that become floats, floats that become bytes, and those floats again.
TEST(SimdFused, RoundsToBytesAsCastsDo) {
  for_each_target([] {
    for (const DType type : {DType::U8, DType::I8})
      for (const std::int64_t columns : {5, 130, 3000}) {
        Random random(13);
        const Shape shape{3, columns};
        Writer writer(shape);
        const int x = writer.input(tensor(DType::F32, shape, awkward_numbers(numel(shape), random)));
        const int bytes = writer.input(tensor(type, shape, random_numbers(numel(shape), 0, 127)));
        const int words = writer.input(tensor(DType::I32, {columns}, random_numbers(columns, -1e9, 1e9)));
        const int scale = writer.input(tensor(DType::F32, {}, {1.7}));
        const auto cast = [&](int value, DType to) { return writer.step(op::Cast{to}, {value}); };
        const auto mul = [&](int a, int b) { return writer.step(op::Binary{BinaryFn::Mul}, {a, b}); };
        const int rounded = cast(mul(mul(x, scale), cast(bytes, DType::F32)), type);
        const int again = writer.step(op::Binary{BinaryFn::Add}, {cast(rounded, DType::F32), cast(words, DType::F32)});
        writer.output(rounded);
        writer.output(cast(mul(again, scale), type));
        writer.output(cast(cast(x, type), DType::F32));
        writer.expect_same_bits();
      }
  });
}

TEST(SimdFused, WritesLargeResultsWhereverTheyBegin) {
  // Rows of odd length: most begin off any vector's alignment. float32 and bfloat16 results are both streamed.
  const std::int64_t rows = 3, length = 5'700'001;
  ASSERT_GE(rows * length * 2, kStreamedBytes);
  Value x(make_ref<Node>(Desc{{rows, length}, DType::F32}, Device{}));
  Value bias(make_ref<Node>(Desc{{1, length}, DType::F32}, Device{}));
  const auto* in = allocate(x).as<float>();
  const auto* row = allocate(bias).as<float>();
  for (std::int64_t i = 0; i < rows * length; ++i) const_cast<float*>(in)[i] = static_cast<float>(i % 1013);
  for (std::int64_t i = 0; i < length; ++i) const_cast<float*>(row)[i] = static_cast<float>(i % 7) / 4;

  Writer writer({rows, length});
  const int sum = writer.step(op::Binary{BinaryFn::Add}, {writer.input(x), writer.input(bias)});
  writer.output(sum);
  writer.output(writer.step(op::Cast{DType::BF16}, {sum}));
  const std::vector<Value> found = writer.run_fused();
  const Array sums = read(found[0]), halves = read(found[1]), alone = read(writer.alone(sum));
  for (std::int64_t i = 0; i < rows * length; ++i) {
    const float expected = in[i] + row[i % length];
    ASSERT_EQ(sums.as<float>()[i], expected) << i;
    ASSERT_EQ(alone.as<float>()[i], expected) << i;
    ASSERT_EQ(halves.as<BF16>()[i].bits, BF16(expected).bits) << i;
  }
}

/// A maximum and a minimum with numbers have a kernel of their own.
TEST(SimdFused, ClampsElementsOfAnyType) {
  Random random(5);
  const DType dtypes[] = {DType::F32, DType::F64, DType::F16, DType::BF16, DType::I64, DType::I32,
                          DType::I8,  DType::U8,  DType::I16, DType::U64,  DType::U32, DType::U16};
  for_each_target([&] {
    for (const DType dtype : dtypes)
      for (const std::int64_t columns : {1, 7, 64, 101, 2500})
        for (const auto& [low, high] : {std::pair{-0.0, 2.0}, {0.0, 1.0}, {3.0, 1.0}, {0.1, 0.3}, {0.0, double{NAN}}}) {
          if (!is_float(dtype) && !(low == std::floor(low) && high == std::floor(high))) continue;
          SCOPED_TRACE(text(dtype, " [3, ", columns, "] from ", low, " to ", high));
          std::vector<double> some = awkward_numbers(3 * columns, random);
          if (!is_float(dtype))
            for (double& number : some) number = static_cast<double>(random.below(100));
          some = rounded(dtype, some);
          const Shape shape{3, columns};
          const Value x = tensor(dtype, shape, some, random.below(2) ? Dims{1, 0} : Dims{0, 1});
          if (is_float(dtype)) {
            Writer writer(shape);
            const int above =
                writer.step(op::Binary{BinaryFn::Maximum}, {writer.input(x), writer.input(Value(low), dtype)});
            writer.output(writer.step(op::Binary{BinaryFn::Minimum}, {above, writer.input(Value(high), dtype)}));
            writer.expect_same_bits();
          }
          if (std::isnan(high)) continue;
          using Operand = op::ProgramOperand;
          const auto program = std::make_shared<op::Program>();
          program->shape = shape;
          program->inputs = {dtype, dtype, dtype};
          program->steps.push_back(
              {op::Binary{BinaryFn::Maximum}, {Operand{Operand::Input, 0}, {Operand::Input, 1}}, dtype});
          program->steps.push_back(
              {op::Binary{BinaryFn::Minimum}, {Operand{Operand::Result, 0}, {Operand::Input, 2}}, dtype});
          program->outputs = {1};
          std::vector<Value> in{x, Value(low), Value(high)}, out{Value(make_ref<Node>(Desc{shape, dtype}, Device{}))};
          ASSERT_TRUE(run(op::Fused{program, false}, Call{in, out}));
          for (double& number : some)
            if (!std::isnan(number)) number = std::min(std::max(number, low), high);
          expect_close(numbers(out[0]), rounded(dtype, some), 1e-7);
        }
  });
}

TEST(SimdStream, CopiesBetweenAnyAlignments) {
  for_each_target([] {
    std::vector<std::uint8_t> from(600), to(600);
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = static_cast<std::uint8_t>(i * 7 + 1);
    for (std::size_t begin = 0; begin < 70; ++begin) {
      for (const std::size_t bytes : {0u, 1u, 15u, 64u, 65u, 128u, 400u}) {
        std::fill(to.begin(), to.end(), 0);
        stream(from.data() + 3, to.data() + begin, static_cast<std::int64_t>(bytes));
        finish_streaming();
        for (std::size_t i = 0; i < to.size(); ++i)
          ASSERT_EQ(to[i], i >= begin && i < begin + bytes ? from[3 + i - begin] : 0) << begin << " " << bytes;
      }
    }
  });
}

}  // namespace
}  // namespace kiln::cpu::simd

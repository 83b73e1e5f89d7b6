// What each rule of lowering makes of kernels with the values at which it could go wrong, against C++; run() compares
// every other kernel of these tests too.
#include <array>
#include <cmath>
#include <limits>

#include "kiln/ops/expression/parse.hpp"
#include "tests/backend/gpu/kernels.hpp"

namespace kiln::gpu {
namespace {

using Kind = Instruction::Kind;

const LoweringRule& rule_named(std::string_view name) {
  for (const LoweringRule& each : kLoweringRules)
    if (each.name == name) return each;
  fail<ArgumentError>("no rule ", name);
}

/// Calls f for each statement, and those inside of it.
template <class F>
void each_statement(const Statements& list, F& f) {
  for (const Statement& each : list) {
    f(each);
    for (const Statements* const part : {&each.head, &each.body, &each.otherwise}) each_statement(*part, f);
  }
}

/// What a poor device lacks and the kernel still has; empty if nothing.
std::string left_in(const Kernel& kernel) {
  std::string left;
  const auto note = [&](DType type, const char* what) {
    if (type == DType::I64 || type == DType::U64 || type == DType::F64) left += text(type, " ", what, "; ");
  };
  const auto see = [&](const Statement& each) {
    if (each.kind == Statement::Kind::Loop) note(kernel.values[each.first], "counter");
    if (each.kind != Statement::Kind::Let) return;
    note(each.instruction.type, "value");
    if (each.instruction.kind == Kind::Shuffle) left += "a shuffle; ";
    if (each.instruction.kind == Kind::Number) left += "a number; ";
  };
  each_statement(kernel.body, see);
  for (const Parameter& each : kernel.parameters)
    if (size_of(each.dtype) != 4) left += text("a buffer of ", each.dtype, "; ");
  for (const Kernel::Array& each : kernel.shared)
    if (size_of(each.dtype) != 4) left += text("shared ", each.dtype, "; ");
  for (const Kernel::Array& each : kernel.locals) note(each.dtype, "variable");
  return left;
}

/// Lowers the kernel for a poor device, and runs it on memory in place, with nothing of the original.
void run_lowered(const Kernel& kernel, std::int64_t blocks, const std::vector<Given>& given) {
  const Kernel made = lowered(kernel, poor_device());
  EXPECT_EQ(left_in(made), "") << kernel.name;
  std::vector<std::uint64_t> arguments;
  for (const Given& each : given) arguments.push_back(each.bits);
  interpret_lowered(made, blocks, arguments, [&](std::uint64_t at) {
    for (const Given& each : given)
      if (each.extent.begin && at >= each.extent.begin && at < each.extent.end) return each.extent;
    return Extent{at, at};
  });
}

// ---- integers of 64 bits -------------------------------------------------------------------------------------------

std::vector<std::uint64_t> edges() {
  std::vector<std::uint64_t> all;
  for (const std::uint64_t near : {std::uint64_t{0}, std::uint64_t{1} << 16, std::uint64_t{1} << 31,
                                   std::uint64_t{1} << 32, std::uint64_t{1} << 47, std::uint64_t{1} << 63})
    for (const std::int64_t by : {-2, -1, 0, 1, 3}) all.push_back(near + static_cast<std::uint64_t>(by));
  for (const std::uint64_t other : {31u, 32u, 33u, 62u, 63u, 64u, 65u, 1000000007u}) all.push_back(other);
  all.insert(all.end(), {0x0123456789abcdef, 0xfedcba9876543210, 0xffffffff00000000, 0x00000000ffffffff});
  return all;
}

/// Both for all pairs of edges.
template <class T>
struct EdgePairs {
  std::vector<T> x, y;
  EdgePairs() {
    for (const std::uint64_t a : edges())
      for (const std::uint64_t b : edges()) {
        x.push_back(static_cast<T>(a));
        y.push_back(static_cast<T>(b));
      }
    const std::size_t whole = (x.size() + 63) / 64 * 64;
    x.resize(whole, T{5});
    y.resize(whole, T{3});
  }
};

/// In 128 bits, where nothing overflows.
template <class T>
T meaning(Arithmetic op, T x, T y) {
  using Big = __int128;
  const auto kept = [](Big big) { return static_cast<T>(static_cast<std::uint64_t>(big)); };
  const auto shift = static_cast<std::uint64_t>(y);
  switch (op) {
    case Arithmetic::Add: return kept(Big{x} + y);
    case Arithmetic::Subtract: return kept(Big{x} - y);
    case Arithmetic::Multiply:
      return kept(static_cast<Big>(static_cast<unsigned __int128>(Big{x}) * static_cast<unsigned __int128>(Big{y})));
    case Arithmetic::Divide: return kept(Big{x} / y);
    case Arithmetic::Remainder: return kept(Big{x} % y);
    case Arithmetic::Minimum: return x < y ? x : y;
    case Arithmetic::Maximum: return x < y ? y : x;
    case Arithmetic::And: return x & y;
    case Arithmetic::Or: return x | y;
    case Arithmetic::Xor: return x ^ y;
    case Arithmetic::ShiftLeft:
      return shift > 63 ? T{0} : kept(static_cast<Big>(static_cast<std::uint64_t>(x) << shift));
    case Arithmetic::ShiftRight: return shift > 63 ? T{0} : kept(Big{x} >> shift);
    case Arithmetic::Less: return x < y;
    case Arithmetic::LessEqual: return x <= y;
    case Arithmetic::Equal: return x == y;
    case Arithmetic::NotEqual: return x != y;
    case Arithmetic::Negate: return kept(-Big{x});
    case Arithmetic::Not: return static_cast<T>(~x);
  }
  return {};
}

template <class T>
class Pairs : public testing::Test {};
using WideTypes = testing::Types<std::int64_t, std::uint64_t>;
TYPED_TEST_SUITE(Pairs, WideTypes);

TYPED_TEST(Pairs, ComputeWhatIntegersOf64BitsDo) {
  using T = TypeParam;
  EdgePairs<T> given;
  for (int i = 0; i <= static_cast<int>(Arithmetic::NotEqual); ++i) {
    const auto op = static_cast<Arithmetic>(i);
    const bool divides = op == Arithmetic::Divide || op == Arithmetic::Remainder, unary = op <= Arithmetic::Not;
    std::vector<T> y = given.y, result(y.size());
    for (T& each : y)
      if (divides && each == 0) each = 7;
    Builder k("pairs", 64);
    const Buffer in = k.input(dtype_of<T>), other = k.input(dtype_of<T>), out = k.output(dtype_of<T>);
    const Expr at = k.place(DType::I64);
    out.store(at, (unary ? compute(op, in[at]) : compute(op, in[at], other[at])).as(dtype_of<T>));
    run_lowered(k.finish(), static_cast<std::int64_t>(y.size() / 64), {given.x, y, result});
    for (std::size_t j = 0; j < y.size(); ++j)
      ASSERT_EQ(result[j], meaning(op, given.x[j], y[j])) << "operator " << i << " of " << given.x[j] << ", " << y[j];
  }
}

TYPED_TEST(Pairs, AreShiftedByLiterals) {
  using T = TypeParam;
  EdgePairs<T> given;
  for (const int by : {0, 1, 31, 32, 33, 63, 64})
    for (const Arithmetic op : {Arithmetic::ShiftLeft, Arithmetic::ShiftRight}) {
      std::vector<T> result(given.x.size());
      Builder k("shifts", 64);
      const Buffer in = k.input(dtype_of<T>), out = k.output(dtype_of<T>);
      const Expr at = k.place(DType::I32), x = in[at];
      out.store(at, compute(op, x, like(x, by)));
      run_lowered(k.finish(), static_cast<std::int64_t>(result.size() / 64), {given.x, result});
      for (std::size_t j = 0; j < result.size(); ++j)
        ASSERT_EQ(result[j], meaning<T>(op, given.x[j], static_cast<T>(by))) << given.x[j] << " by " << by;
    }
}

template <class T>
T float_to(double x) {  // float32 and float64 are doubles
  if (std::isnan(x)) return 0;
  const double beyond = std::is_signed_v<T> ? 0x1p63 : 0x1p64;
  if (x >= beyond) return std::numeric_limits<T>::max();
  if (x <= static_cast<double>(std::numeric_limits<T>::lowest())) return std::numeric_limits<T>::lowest();
  return static_cast<T>(x);
}

TYPED_TEST(Pairs, BecomeFloatsAndComeFromThem) {
  using T = TypeParam;
  std::vector<float> floats;
  for (const float x : {0.0f, 0.5f, 0.99999994f, 1.0f, 1.5f, 16777217.0f, 2147483648.0f, 4294967040.0f, 4294967296.0f,
                        4294967808.0f, 1e15f, 9.2233715e18f, 9.2233720e18f, 1.8446743e19f, 1.8446744e19f, 3e38f, 1e-40f,
                        std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()})
    floats.insert(floats.end(), {x, -x});
  floats.resize(64, 123456.789f);
  std::vector<T> whole(64);
  Builder k("floats_to_pairs", 64);
  const Buffer in = k.input(DType::F32), out = k.output(dtype_of<T>);
  out.store(k.thread(), in[k.thread()].as(dtype_of<T>));
  run_lowered(k.finish(), 1, {floats, whole});
  for (std::size_t i = 0; i < 64; ++i) ASSERT_EQ(whole[i], float_to<T>(floats[i])) << floats[i];

  // Halves of steps of float32, at all lengths, which round to even.
  std::vector<T> numbers;
  for (int bits = 1; bits < 64; ++bits)
    for (const std::uint64_t low : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << (bits > 24 ? bits - 24 : 0),
                                    std::uint64_t{3} << (bits > 24 ? bits - 24 : 0), ~std::uint64_t{0} >> (64 - bits),
                                    (std::uint64_t{1} << (bits > 24 ? bits - 24 : 0)) + 1}) {
      numbers.push_back(static_cast<T>((std::uint64_t{1} << bits) + low));
      numbers.push_back(static_cast<T>(0 - static_cast<std::uint64_t>(numbers.back())));
    }
  numbers.resize((numbers.size() + 63) / 64 * 64);
  std::vector<float> made(numbers.size());
  Builder b("pairs_to_floats", 64);
  const Buffer from = b.input(dtype_of<T>), to = b.output(DType::F32);
  const Expr i = b.place(DType::I32);
  to.store(i, from[i].as(DType::F32));
  run_lowered(b.finish(), static_cast<std::int64_t>(numbers.size() / 64), {numbers, made});
  for (std::size_t at = 0; at < made.size(); ++at) ASSERT_EQ(made[at], static_cast<float>(numbers[at])) << numbers[at];
}

TYPED_TEST(Pairs, CountLoops) {
  using T = TypeParam;
  using Limits = std::numeric_limits<T>;
  // A counter that passes the end of its type ends its loop.
  std::vector<T> begin{0, 0, T(-3), Limits::max() - 2, T(5), (T{1} << 32) - 2, 0, Limits::min()},
      end{10, 0, T(4), Limits::max(), T(1), (T{1} << 32) + 3, Limits::max(), Limits::min() + 2},
      step{3, 1, 2, 2, 1, 1, Limits::max() / 2, 1};
  for (std::vector<T>* const each : {&begin, &end, &step}) each->resize(32, T{1});
  std::vector<T> sums(32);
  std::vector<std::int32_t> rounds(32);
  Builder k("counts", 32);
  const Buffer from = k.input(dtype_of<T>), to = k.input(dtype_of<T>), by = k.input(dtype_of<T>),
               out = k.output(dtype_of<T>), count = k.output(DType::I32);
  const Local sum = k.variable(k.literal(dtype_of<T>, 0)), many = k.variable(k.literal(DType::I32, 0));
  k.loop(from[k.thread()], to[k.thread()], by[k.thread()], [&](const Expr& i) {
    sum.set(sum + i);
    many.set(many + 1);
  });
  out.store(k.thread(), sum);
  count.store(k.thread(), many);
  run_lowered(k.finish(), 1, {begin, end, step, sums, rounds});
  for (std::size_t t = 0; t < 32; ++t) {
    std::uint64_t sum_of = 0;
    std::int32_t times = 0;
    for (__int128 i = begin[t]; i < end[t]; i += step[t], ++times) sum_of += static_cast<std::uint64_t>(i);
    EXPECT_EQ(sums[t], static_cast<T>(sum_of)) << t;
    EXPECT_EQ(rounds[t], times) << t;
  }
}

TYPED_TEST(Pairs, AreInVariablesSharedMemoryTablesAndShuffles) {
  using T = TypeParam;
  std::vector<T> x(64), y(128), z(64);
  for (std::size_t i = 0; i < 64; ++i) x[i] = static_cast<T>(0x0123456789abcdef * (i + 1));
  Builder k("places", 64);
  const Buffer in = k.input(dtype_of<T>), out = k.output(dtype_of<T>), last = k.output(dtype_of<T>);
  const Numbers numbers = k.numbers(3);
  const Expr factor = k.number(dtype_of<T>), i = k.thread();
  const Shared shared = k.shared(dtype_of<T>, 128);
  const Local kept = k.local(dtype_of<T>, 2);
  kept.set(0, in[i]);
  kept.set(1, numbers[i % 3].as(dtype_of<T>));
  shared.store(i * 2, std::array{kept[0] * factor, kept[1]});
  k.barrier();
  const std::vector<Expr> pair = shared.load((k.literal(DType::I32, 63) - i) * 2, 2);
  out.store(i * 2, pair);
  last.store(i, k.shuffle(kept[0], (i + 1) % 32));
  const std::int64_t entries[] = {INT64_MIN, -1, (std::int64_t{1} << 32) + 5};
  run_lowered(k.finish(), 1, {x, y, z, entries[0], entries[1], entries[2], static_cast<T>(0x100000003)});
  for (std::size_t j = 0; j < 64; ++j) {
    const std::size_t from = 63 - j;
    EXPECT_EQ(y[2 * j], static_cast<T>(static_cast<std::uint64_t>(x[from]) * 0x100000003));
    EXPECT_EQ(y[2 * j + 1], static_cast<T>(entries[from % 3]));
    EXPECT_EQ(z[j], x[j / 32 * 32 + (j + 1) % 32]);
  }
}

TEST(PairsOfWords, AreSummedAtomically) {
  std::vector<std::int64_t> x(64), sum{-7}, in_block(1);
  for (std::size_t i = 0; i < 64; ++i) x[i] = static_cast<std::int64_t>(i * 0x0fedcba987654321) - (i % 2 ? 1 : 0);
  Builder k("sums", 64);
  const Buffer in = k.input(DType::I64), out = k.both(DType::I64), once = k.output(DType::I64);
  const Shared shared = k.shared(DType::I64, 1);
  const Expr zero = k.literal(DType::I32, 0);
  k.when(k.thread() == 0, [&] { shared.store(zero, k.literal(DType::I64, 0)); });
  k.barrier();
  out.update(Update::Add, zero, in[k.thread()]);
  shared.update(Update::Add, zero, in[k.thread()]);
  k.barrier();
  k.when(k.thread() == 0, [&] { once.store(zero, shared[zero]); });
  run_lowered(k.finish(), 1, {x, sum, in_block});
  std::uint64_t expected = 0;
  for (const std::int64_t each : x) expected += static_cast<std::uint64_t>(each);
  EXPECT_EQ(in_block[0], static_cast<std::int64_t>(expected));
  EXPECT_EQ(sum[0], static_cast<std::int64_t>(expected - 7));
}

std::string refused(std::string_view rule, const Kernel& kernel) {
  return sentence_of([&] {
    rule_named(rule).apply(kernel);
    return 0;
  });
}

TEST(PairsOfWords, SayWhatTheyCannot) {
  for (const Update update : {Update::Add, Update::Maximum, Update::Exchange}) {
    Builder k("atomic", 32);
    const Buffer x = k.both(DType::I64);
    const Expr old = x.update(update, k.thread(), k.literal(DType::I64, 1));
    x.store(k.thread(), old);
    EXPECT_NE(refused("pairs", k.finish()).find("kernel atomic: 64-bit integers are updated atomically"),
              std::string::npos);
  }
  Builder k("bits", 32);
  const Buffer x = k.input(DType::F64), y = k.output(DType::I64);
  y.store(k.thread(), x[k.thread()].bits_as(DType::I64));
  EXPECT_NE(refused("pairs", k.finish()).find("kernel bits: "), std::string::npos);
}

// ---- expressions ---------------------------------------------------------------------------------------------------

TYPED_TEST(Pairs, AreGivenToFunctions) {
  using T = TypeParam;
  EdgePairs<T> given;
  for (const char* const name : {"fmod", "remainder", "floor_divide", "gcd", "shift_left", "shift_right", "max", "min",
                                 "abs", "sign", "pow", "floor", "sign_bit", "is_nan", "to_word"}) {
    const expr::Function* const function = expr::find_function(name);
    if (!function || !function->definition(dtype_of<T>)) continue;
    std::vector<T> result(given.x.size());
    Builder k(name, 64);
    const Buffer in = k.input(dtype_of<T>), other = k.input(dtype_of<T>), out = k.output(dtype_of<T>);
    const Expr at = k.place(DType::I32);
    const Expr made = function->takes.size() == 1 ? k.call(name, dtype_of<T>, {in[at]})
                                                  : k.call(name, dtype_of<T>, {in[at], other[at]});
    out.store(at, made.as(dtype_of<T>));
    const Kernel kernel = k.finish();
    const auto blocks = static_cast<std::int64_t>(result.size() / 64);
    EXPECT_EQ(left_in(lowered(kernel, poor_device())), "") << name;
    run(kernel, blocks, {given.x, given.y, result});
  }
}

TYPED_TEST(Pairs, AreGivenToOperatorsOfTrees) {
  using T = TypeParam;
  EdgePairs<T> given;
  const expr::Variable scope[] = {{"x"}, {"y"}};
  // Shifts are modulo the width here, and a quotient by 0 is 0.
  for (const char* const text : {"x << y", "x >> y", "x / y", "select(x < y, x & y, x ^ y)"}) {
    const expr::Tree tree = expr::parse(text, scope);
    std::vector<T> result(given.x.size());
    Builder k("tree", 64);
    const Buffer in = k.input(dtype_of<T>), other = k.input(dtype_of<T>), out = k.output(dtype_of<T>);
    const Expr at = k.place(DType::I32);
    out.store(at, k.tree(tree, dtype_of<T>, std::array{in[at], other[at]}));
    run(k.finish(), static_cast<std::int64_t>(result.size() / 64), {given.x, given.y, result});
  }
}

TYPED_TEST(Pairs, AreRoundedToHalvesOnce) {
  using T = TypeParam;
  // A little more than the middle between two bfloat16, which a float32 would not tell from the middle.
  std::vector<T> x(32);
  for (std::size_t i = 0; i < 32; ++i) x[i] = (T{1} << 40) + (T{1} << 32) + static_cast<T>(i % 3) - 1;
  std::vector<BF16> halves(32);
  Builder k("halves", 32);
  const Buffer in = k.input(dtype_of<T>), out = k.output(DType::BF16);
  out.store(k.thread(), k.convert(in[k.thread()], dtype_of<T>, DType::BF16));
  run_lowered(k.finish(), 1, {x, halves});
  for (std::size_t i = 0; i < 32; ++i)
    EXPECT_EQ(static_cast<float>(halves[i]), i % 3 == 2 ? 0x1p40f + 0x1p33f : 0x1p40f) << i;
}

// ---- elements of less than a word ----------------------------------------------------------------------------------

TEST(PackedElements, LeaveTheirNeighboursAlone) {
  // Every third element of what begins in the middle of a word; the threads share words.
  for (const std::size_t first : {std::size_t{0}, std::size_t{1}, std::size_t{2}, std::size_t{3}}) {
    std::vector<std::uint8_t> memory(256);
    for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<std::uint8_t>(200 + i);
    std::vector<std::uint8_t> expected = memory;
    for (std::size_t t = 0; t < 64; ++t) expected[first + 3 * t] = static_cast<std::uint8_t>(7 * t);
    Builder k("thirds", 64);
    const Buffer out = k.output(DType::U8);
    out.store(k.thread() * 3, k.thread() * 7);
    const Kernel kernel = lowered(k.finish(), poor_device());
    const std::uint64_t begin = reinterpret_cast<std::uintptr_t>(memory.data()), address = begin + first;
    interpret_lowered(kernel, 1, std::span(&address, 1),
                      [&](std::uint64_t) { return Extent{begin, begin + memory.size()}; });
    EXPECT_EQ(memory, expected) << first;
  }
}

TEST(PackedElements, AreStoredAtOnceWhereTheyFillWords) {
  const auto updates = [](int width) {
    Builder k("width", 32);
    const Buffer in = k.input(DType::F16), out = k.output(DType::F16);
    out.store(k.thread() * width, in.load(k.thread() * width, width));
    const Kernel kernel = rule_named("packed_elements").apply(k.finish());
    int count = 0;
    const auto see = [&](const Statement& each) { count += each.instruction.kind == Kind::Update; };
    each_statement(kernel.body, see);
    return count;
  };
  EXPECT_EQ(updates(1), 2);
  EXPECT_EQ(updates(2), 0);
  EXPECT_EQ(updates(8), 0);
}

TEST(WideShared, HoldsWhatElementsHold) {
  for (const DType dtype : {DType::F16, DType::BF16, DType::I16, DType::U16, DType::I8, DType::U8}) {
    std::vector<float> x(64), y(64);
    std::vector<std::uint32_t> pairs(32);
    for (std::size_t i = 0; i < 64; ++i) x[i] = static_cast<float>(i * 1.37 - 40) * (i == 5 ? 3000.0f : 1.0f);
    Builder k("shared", 32);
    const Buffer in = k.input(DType::F32), out = k.output(DType::F32), words = k.output(DType::U32);
    const Shared shared = k.shared(dtype, 64);
    const Expr i = k.thread();
    const auto value = [&](const Expr& each) { return each.as(expr::computed_in(dtype)); };
    shared.store(i * 2, std::array{value(in[i * 2]), value(in[i * 2 + 1])});
    k.barrier();
    const std::vector<Expr> back = shared.load((k.literal(DType::I32, 31) - i) * 2, 2);
    out.store(i * 2, std::array{back[0].as(DType::F32), back[1].as(DType::F32)});
    if (size_of(dtype) == 2) words.store(i, shared.pair(i * 2));
    const Kernel kernel = k.finish();
    EXPECT_EQ(left_in(lowered(kernel, poor_device())), "");
    run(kernel, 1, {x, y, pairs});
  }
}

// ---- shuffles ------------------------------------------------------------------------------------------------------

TEST(SharedShuffles, PassValuesWhereAllThreadsGet) {
  std::vector<std::int32_t> x(128), y(128);
  for (std::size_t i = 0; i < 128; ++i) x[i] = static_cast<std::int32_t>(i * i);
  Builder k("passing", 128);
  const Buffer in = k.input(DType::I32), out = k.output(DType::I32);
  const Expr rounds = k.number(DType::I32);
  const Local sum = k.variable(in[k.thread()]), turn = k.variable(k.literal(DType::I32, 0));
  k.loop(k.literal(DType::I32, 0), rounds, k.literal(DType::I32, 1),
         [&](const Expr& i) { sum.set(sum + k.shuffle(sum, (k.lane() + i + 1) % kLanes)); });
  k.loop_while([&] { return turn.get() < rounds; },
               [&] {
                 const Expr even = k.shuffle((sum % 2) == 0, k.literal(DType::I32, 3));
                 sum.set(sum + select(even, k.literal(DType::I32, 1), k.literal(DType::I32, 5)));
                 turn.set(turn + 1);
               });
  out.store(k.thread(), sum);
  const Kernel kernel = k.finish();
  EXPECT_EQ(left_in(lowered(kernel, poor_device())), "");
  run(kernel, 1, {x, y, 3});
  std::vector<std::int32_t> sums = x;
  for (std::size_t i = 0; i < 3; ++i) {
    const std::vector<std::int32_t> before = sums;
    for (std::size_t t = 0; t < 128; ++t) sums[t] += before[t / 32 * 32 + (t + i + 1) % 32];
  }
  for (int i = 0; i < 3; ++i) {
    const std::vector<std::int32_t> before = sums;
    for (std::size_t t = 0; t < 128; ++t) sums[t] += before[t / 32 * 32 + 3] % 2 == 0 ? 1 : 5;
  }
  EXPECT_EQ(y, sums);
  std::ranges::fill(y, 0);
  run_lowered(kernel, 1, {x, y, 3});
  EXPECT_EQ(y, sums);
}

TEST(SharedShuffles, AreRefusedWherePerhapsNotAllThreadsGet) {
  const auto said = [](auto write) {
    Builder k("parting", 64);
    const Buffer in = k.both(DType::I32);
    write(k, in);
    return refused("shared_shuffles", k.finish());
  };
  const std::string expected = "kernel parting: a shuffle that perhaps not all threads";
  const auto shuffled = [](Builder& k, const Buffer& x) { x.store(k.thread(), k.shuffle(k.thread(), k.lane())); };
  EXPECT_NE(said([&](Builder& k, const Buffer& x) { k.when(k.warp() == 0, [&] { shuffled(k, x); }); }).find(expected),
            std::string::npos);
  // By way of a variable that threads set differently, and the next round of the loop sees.
  EXPECT_NE(said([&](Builder& k, const Buffer& x) {
              const Local on = k.variable(k.boolean(true)), odd = k.variable(k.boolean(true));
              k.loop(k.literal(DType::I32, 0), k.literal(DType::I32, 3), k.literal(DType::I32, 1), [&](const Expr&) {
                k.when(on.get(), [&] { shuffled(k, x); });
                on.set(odd.get());
                k.when(k.warp() == 0, [&] { odd.set(k.boolean(false)); });
              });
            }).find(expected),
            std::string::npos);
  EXPECT_EQ(said([&](Builder& k, const Buffer& x) { k.when(k.block() == 0, [&] { shuffled(k, x); }); }), "");
}

// ---- parameters ----------------------------------------------------------------------------------------------------

TEST(UniformBlock, HoldsNumbersOfAllTypes) {
  std::vector<double> out(8);
  Builder k("numbers", 32);
  const Expr small = k.number(DType::I8);
  const Buffer to = k.output(DType::F64);
  const Expr whole = k.number(DType::I64), real = k.number(DType::F64), half = k.number(DType::F16);
  const Numbers table = k.numbers(2);
  const Expr word = k.number(DType::U32), large = k.number(DType::U64);
  k.when(k.thread() == 0, [&] {
    int at = 0;
    for (const Expr& each : {small, whole, real, half, word, large, table[k.literal(DType::I32, 1)]})
      to.store(k.literal(DType::I32, at++), each.as(DType::F64));
  });
  const Kernel kernel = k.finish();
  const Kernel made = rule_named("uniform_block").apply(kernel);
  EXPECT_EQ(made.parameters.size(), 2u);
  EXPECT_EQ(made.parameters[1].uniform, 1 + 2 + 2 + 1 + 4 + 1 + 2);
  run(kernel, 1,
      {-5, out, std::int64_t{-6000000000}, 0.1, 0.5f, std::int64_t{3}, std::int64_t{-4000000000}, 4000000000u,
       std::uint64_t{18000000000000000000u}});
  EXPECT_EQ(out, (std::vector<double>{-5, -6000000000, 0.1, 0.5, 4000000000, 1.8e19, -4000000000, 0}));
}

TEST(Offsets, BelongToEachBuffer) {
  std::vector<std::int16_t> a(32), b(32), c(32), out(64);
  for (std::size_t i = 0; i < 32; ++i) {
    a[i] = static_cast<std::int16_t>(i);
    b[i] = static_cast<std::int16_t>(100 + i);
    c[i] = static_cast<std::int16_t>(200 + i);
  }
  Builder k("chosen", 32);
  const Table tables = k.inputs(DType::I16, 3);
  const Buffer to = k.output(DType::I16);
  const Expr which = k.block() + 1;
  const Buffer from = tables[which];
  to.store(k.place(DType::I64), from[k.thread()]);
  run(k.finish(), 2, {a, b, c, out});
  for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(out[i], (i < 32 ? b : c)[i % 32]);

  const Kernel kernel = [] {
    Builder one("one", 32);
    const Buffer x = one.both(DType::I32);
    x.store(one.thread(), one.thread());
    return lower::with_offsets(one.finish());
  }();
  EXPECT_NE(sentence_of([&] {
              const std::uint64_t argument = 1026;
              lowered_arguments(kernel, 1, std::span(&argument, 1), [](std::uint64_t) { return std::uint64_t{1024}; });
              return 0;
            }).find("kernel one: a buffer begins 2 bytes behind"),
            std::string::npos);
}

TEST(SpareBlocks, DoNothing) {
  std::vector<std::int32_t> out(96);
  Builder k("counting", 32);
  const Buffer to = k.output(DType::I32);
  to.store(k.place(DType::I32), k.blocks() * 1000 + k.block());
  run(k.finish(), 3, {out});  // three more blocks would store outside
  for (std::size_t i = 0; i < 96; ++i) EXPECT_EQ(out[i], static_cast<std::int32_t>(3000 + i / 32));
}

}  // namespace
}  // namespace kiln::gpu

// Where 64-bit integers are pairs of words: conversions, loops, memory, shuffles and sums.
#include <array>
#include <cmath>
#include <limits>

#include "tests/backend/gpu/lower/edges.hpp"
#include "tests/backend/gpu/lower/rules.hpp"

namespace kiln::gpu {
namespace {

template <class T>
class WidePairs : public testing::Test {};
TYPED_TEST_SUITE(WidePairs, WideTypes);

template <class T>
T float_to(double x) {  // float32 and float64 are doubles
  if (std::isnan(x)) return 0;
  const double beyond = std::is_signed_v<T> ? 0x1p63 : 0x1p64;
  if (x >= beyond) return std::numeric_limits<T>::max();
  if (x <= static_cast<double>(std::numeric_limits<T>::lowest())) return std::numeric_limits<T>::lowest();
  return static_cast<T>(x);
}

TYPED_TEST(WidePairs, BecomeFloatsAndComeFromThem) {
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

TYPED_TEST(WidePairs, CountLoops) {
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

TYPED_TEST(WidePairs, AreInVariablesSharedMemoryTablesAndShuffles) {
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

}  // namespace
}  // namespace kiln::gpu

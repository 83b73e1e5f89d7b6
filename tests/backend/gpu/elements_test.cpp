// Elements on their way between memory and what they are computed in, and from one type to another.
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>

#include "kiln/core/convert.hpp"
#include "tests/backend/gpu/kernels.hpp"

namespace kiln::gpu {
namespace {

constexpr DType kAll[] = {DType::F64, DType::F32, DType::F16, DType::BF16, DType::I64, DType::I32, DType::I16,
                          DType::I8,  DType::U64, DType::U32, DType::U16,  DType::U8,  DType::Bool};

/// Bytes that are elements of any kind.
std::vector<std::uint8_t> bytes(DType dtype, std::size_t count) {
  std::vector<std::uint8_t> all(count * size_of(dtype));
  std::uint32_t state = 7;
  for (std::uint8_t& each : all) {
    state = state * 1664525 + 1013904223;
    each = dtype == DType::Bool ? state >> 31 : static_cast<std::uint8_t>(state >> 24);
  }
  return all;
}

/// NaNs may have other bits, once they were a number.
template <class T>
bool same(const T& a, const T& b) {
  if constexpr (is_half<T> || std::is_floating_point_v<T>)
    if (static_cast<double>(a) != static_cast<double>(a)) return static_cast<double>(b) != static_cast<double>(b);
  using Bytes = std::array<std::byte, sizeof(T)>;
  return std::bit_cast<Bytes>(a) == std::bit_cast<Bytes>(b);
}

template <class T>
std::vector<T> elements(const std::vector<std::uint8_t>& bytes) {
  std::vector<T> all(bytes.size() / sizeof(T));
  std::memcpy(all.data(), bytes.data(), bytes.size());
  return all;
}
template <>
std::vector<bool> elements(const std::vector<std::uint8_t>& bytes) {
  return std::vector<bool>(bytes.begin(), bytes.end());
}

TEST(Elements, AreLoadedAndStoredAtAnyWidth) {
  for (const DType dtype : kAll) {
    for (int width = 1; static_cast<std::size_t>(width) * size_of(dtype) <= 16; width *= 2) {
      Builder k("copy", 64);
      const Buffer from = k.input(dtype), to = k.output(dtype);
      const Expr i = (k.block() * 64 + k.thread()) * width;
      to.store(i, from.load(i, width));
      std::vector<std::uint8_t> in = bytes(dtype, 128 * static_cast<std::size_t>(width));
      std::vector<std::uint8_t> out(in.size());
      run(k.finish(), 2, {in, out});
      visit_dtype(dtype, [&](auto tag) {
        using T = typename decltype(tag)::type;
        const auto a = elements<T>(in), b = elements<T>(out);
        for (std::size_t at = 0; at < a.size(); ++at)
          ASSERT_TRUE(same<T>(a[at], b[at])) << name(dtype) << " in " << width << " at " << at;
      });
    }
  }
}

TEST(Elements, BecomeThoseOfOtherTypesByTheRulesOfConvert) {
  for (const DType from : kAll)
    for (const DType to : kAll) {
      Builder k("convert", 64);
      const Buffer x = k.input(from), y = k.output(to);
      const Expr i = k.block() * 64 + k.thread();
      y.store(i, k.convert(x[i], from, to));
      std::vector<std::uint8_t> in = bytes(from, 1024), out(1024 * size_of(to));
      run(k.finish(), 16, {in, out});
      visit_dtype(from, [&](auto a) {
        visit_dtype(to, [&](auto b) {
          using From = typename decltype(a)::type;
          using To = typename decltype(b)::type;
          const auto given = elements<From>(in);
          const auto made = elements<To>(out);
          for (std::size_t at = 0; at < given.size(); ++at)
            ASSERT_TRUE(same<To>(made[at], convert<To>(static_cast<From>(given[at]))))
                << name(from) << " to " << name(to);
        });
      });
    }
}

TEST(Elements, AreNarrowedToWhatTheyCanHold) {
  std::vector<float> x{1.0f, 1.0f / 3, 70000.0f, -1e-9f, 65519.0f, 3.14159f}, half(x.size()), brain(x.size());
  std::vector<std::int32_t> n{0, 1, 127, 128, 255, 256, 32768, -1, -129, 70000}, brief(n.size()), byte(n.size()),
      word(n.size()), truth(n.size());
  Builder k("narrow", 32);
  const Buffer floats = k.input(DType::F32), halves = k.output(DType::F32), brains = k.output(DType::F32);
  const Expr i = k.thread();
  k.when(i < static_cast<int>(x.size()), [&] {
    halves.store(i, k.narrow(floats[i], DType::F16));
    brains.store(i, k.narrow(floats[i], DType::BF16));
  });
  run(k.finish(), 1, {x, half, brain});
  for (std::size_t at = 0; at < x.size(); ++at) {
    EXPECT_EQ(half[at], static_cast<float>(F16(x[at])));
    EXPECT_EQ(brain[at], static_cast<float>(BF16(x[at])));
  }
  Builder b("narrow_integers", 32);
  const Buffer in = b.input(DType::I32), shorts = b.output(DType::I32), bytes = b.output(DType::I32),
               words = b.output(DType::I32), truths = b.output(DType::I32);
  const Expr j = b.thread();
  b.when(j < static_cast<int>(n.size()), [&] {
    shorts.store(j, b.narrow(in[j], DType::I16));
    bytes.store(j, b.narrow(in[j], DType::U8));
    words.store(j, b.narrow(in[j], DType::I32));
    truths.store(j, b.narrow(in[j], DType::Bool));
  });
  run(b.finish(), 1, {n, brief, byte, word, truth});
  EXPECT_EQ(brief, (std::vector<std::int32_t>{0, 1, 127, 128, 255, 256, -32768, -1, -129, 4464}));
  EXPECT_EQ(byte, (std::vector<std::int32_t>{0, 1, 127, 128, 255, 0, 0, 255, 127, 112}));
  EXPECT_EQ(word, n);
  EXPECT_EQ(truth, (std::vector<std::int32_t>{0, 1, 1, 1, 1, 1, 1, 1, 1, 1}));
}

TEST(Elements, AreRoundedToHalvesOnceWhereTheyAreStored) {
  for (const DType dtype : {DType::F16, DType::BF16}) {
    std::vector<float> x{1.0f, 1.0f / 3, 70000.0f, -1e-9f, 65519.0f, 3.14159f, 1.00390625f, NAN}, whole(x.size());
    std::vector<std::uint16_t> half(x.size());
    Builder k("halves", 32);
    const Buffer floats = k.input(DType::F32), halves = k.output(dtype), read = k.output(DType::F32);
    const Expr i = k.thread();
    k.when(i < static_cast<int>(x.size()), [&] {
      const Expr once = k.convert(floats[i], DType::F32, dtype);
      halves.store(i, k.narrow(once, dtype));
      read.store(i, once);
    });
    const Kernel kernel = k.finish();
    run(kernel, 1, {x, half, whole});
    for (std::size_t at = 0; at < x.size(); ++at) {
      const bool brain = dtype == DType::BF16;
      EXPECT_EQ(half[at], brain ? BF16(x[at]).bits : F16(x[at]).bits) << x[at];
      const float rounded = brain ? static_cast<float>(BF16(x[at])) : static_cast<float>(F16(x[at]));
      EXPECT_TRUE(whole[at] == rounded || std::isnan(x[at])) << x[at];
    }
    // What is stored as a half goes there as it is.
    const Statement& inside = kernel.body.back();
    int narrowed = 0;
    Id stored = 0;
    for (const Statement& each : inside.body) {
      narrowed += each.kind == Statement::Kind::Let && each.instruction.kind == Instruction::Kind::Narrow;
      if (each.kind == Statement::Kind::Store && stored == 0) stored = each.operands[1];
    }
    EXPECT_EQ(narrowed, 1);
    int loaded = 0;
    for (const Statement& each : inside.body)
      loaded +=
          each.kind == Statement::Kind::Let && each.first == stored && each.instruction.kind == Instruction::Kind::Load;
    EXPECT_EQ(loaded, 1);
  }
}

template <class T>
void expect_updates() {
  constexpr DType kType = dtype_of<T>;
  std::vector<T> cells{T(10), T(10), T(10), T(5), T(0)}, before(64 * 3);
  Builder k("updates", 64);
  const Buffer to = k.both(kType), old = k.output(kType);
  const Expr t = k.thread();
  const auto cell = [&](int i) { return k.literal(DType::I32, i); };
  old.store(t, to.update(Update::Add, cell(0), t.as(kType)));
  if constexpr (std::is_integral_v<T>) {
    to.update(Update::Maximum, cell(1), t.as(kType));
    to.update(Update::Minimum, cell(2), t.as(kType));
    to.update(Update::Or, cell(4), k.literal(kType, 1) << (t.as(kType) % 8));
  }
  old.store(t + 64, to.update(Update::Exchange, cell(3), (t + 100).as(kType)));
  run(k.finish(), 1, {cells, before});
  EXPECT_EQ(cells[0], T(10 + 63 * 32));
  // Each saw another sum on its way, and each took what another had left.
  std::sort(before.begin(), before.begin() + 64);
  EXPECT_EQ(before[0], T(10));
  EXPECT_EQ(std::adjacent_find(before.begin() + 1, before.begin() + 64), before.begin() + 64);
  T taken = 0;
  for (int i = 64; i < 128; ++i) taken += before[static_cast<std::size_t>(i)];
  EXPECT_EQ(taken + cells[3], T(5 + 100 * 64 + 63 * 32));
  if constexpr (std::is_integral_v<T>) {
    EXPECT_EQ(cells[1], T(63));
    EXPECT_EQ(cells[2], T(0));
    EXPECT_EQ(cells[4], T(255));
  }
}

TEST(Updates, HappenInOneStep) {
  expect_updates<double>();
  expect_updates<float>();
  expect_updates<std::int64_t>();
  expect_updates<std::uint64_t>();
  expect_updates<std::int32_t>();
  expect_updates<std::uint32_t>();
}

TEST(Updates, OfBlocksHappenInTheirOrder) {
  std::vector<std::int32_t> sum(1), before(5000);
  Builder k("tickets", 32);
  const Buffer count = k.both(DType::I32), seen = k.output(DType::I32);
  k.when(k.thread() == 0,
         [&] { seen.store(k.block(), count.update(Update::Add, k.thread(), k.literal(DType::I32, 1))); });
  run(k.finish(), 5000, {sum, before});
  for (std::int32_t i = 0; i < 5000; ++i) ASSERT_EQ(before[static_cast<std::size_t>(i)], i);
}

TEST(Updates, SwapWhatIsExpectedAlone) {
  std::vector<std::uint32_t> cells{7, 8}, before(64);
  Builder k("swap", 64);
  const Buffer to = k.both(DType::U32), old = k.output(DType::U32);
  const Expr t = k.thread();
  old.store(t, to.compare_and_swap(t % 2, k.literal(DType::U32, 7), k.literal(DType::U32, 9)));
  run(k.finish(), 1, {cells, before});
  EXPECT_EQ(cells, (std::vector<std::uint32_t>{9, 8}));
  EXPECT_EQ(before[0], 7u);
  for (std::size_t t = 1; t < 64; ++t) EXPECT_EQ(before[t], t % 2 ? 8u : 9u);
}

TEST(Updates, SwapFloatsByTheirBits) {
  std::vector<float> cells{-0.0f, 0.0f};
  Builder k("swap", 32);
  const Buffer to = k.both(DType::F32);
  k.when(k.thread() < 2, [&] { to.compare_and_swap(k.thread(), k.literal(DType::F32, 0), k.literal(DType::F32, 1)); });
  run(k.finish(), 1, {cells});
  EXPECT_TRUE(std::signbit(cells[0]));
  EXPECT_EQ(cells[1], 1.0f);
}

TEST(Updates, OfSharedMemoryCount) {
  std::vector<std::int32_t> counts(8);
  Builder k("histogram", 128);
  const Buffer out = k.output(DType::I32);
  const Shared bins = k.shared(DType::I32, 8);
  const Expr t = k.thread();
  k.when(t < 8, [&] { bins.store(t, k.literal(DType::I32, 0)); });
  k.barrier();
  bins.update(Update::Add, t * t % 8, k.literal(DType::I32, 1));
  k.barrier();
  k.when(t < 8, [&] { out.store(t, bins[t]); });
  run(k.finish(), 1, {counts});
  std::vector<std::int32_t> expected(8);
  for (std::size_t t = 0; t < 128; ++t) ++expected[t * t % 8];
  EXPECT_EQ(counts, expected);
}

}  // namespace
}  // namespace kiln::gpu

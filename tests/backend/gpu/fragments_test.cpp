// Products of fragments, which the lanes of a warp hold together, against loops of float64.
#include <cmath>

#include "kiln/core/half.hpp"
#include "tests/backend/gpu/kernels.hpp"

namespace kiln::gpu {
namespace {

constexpr std::size_t kRows = 16, kDepth = 16, kColumns = 8;

/// d = a b + c of matrices in row-major order, by one warp.
Kernel product(DType half) {
  Builder k("product", kLanes);
  const Buffer a = k.input(half), b = k.input(half), c = k.input(DType::F32), d = k.output(DType::F32);
  // b lies transposed, so that what stands one below the other is a pair.
  const Shared rows = k.shared(half, kRows * kDepth), columns = k.shared(half, kDepth * kColumns);
  const Expr lane = k.thread(), g = lane / 4, t = lane % 4 * 2;
  k.unrolled(kRows * kDepth / kLanes, [&](const Expr& i) { rows.store(i * kLanes + lane, a[i * kLanes + lane]); });
  k.unrolled(kDepth * kColumns / kLanes, [&](const Expr& i) {
    const Expr at = i * kLanes + lane;
    columns.store(at % 8 * 16 + at / 8, b[at]);
  });
  k.barrier();
  const auto row_pair = [&](const Expr& row, const Expr& column) { return rows.pair(row * 16 + column); };
  const Expr left[] = {row_pair(g, t), row_pair(g + 8, t), row_pair(g, t + 8), row_pair(g + 8, t + 8)};
  const Expr right[] = {columns.pair(g * 16 + t), columns.pair(g * 16 + t + 8)};
  const Expr places[] = {g * 8 + t, g * 8 + t + 1, (g + 8) * 8 + t, (g + 8) * 8 + t + 1};
  std::vector<Expr> sums;
  for (const Expr& place : places) sums.push_back(c[place]);
  const std::vector<Expr> made = k.multiply_fragments(half, left, right, sums);
  for (std::size_t i = 0; i < 4; ++i) d.store(places[i], made[i]);
  return k.finish();
}

template <class Half>
void expect_product() {
  std::vector<Half> a, b;
  std::vector<float> c, d(kRows * kColumns);
  for (std::size_t i = 0; i < kRows * kDepth; ++i) a.push_back(Half(static_cast<float>(std::sin(0.7 * i))));
  for (std::size_t i = 0; i < kDepth * kColumns; ++i) b.push_back(Half(static_cast<float>(std::cos(1.3 * i))));
  for (std::size_t i = 0; i < kRows * kColumns; ++i) c.push_back(static_cast<float>(i % 7) - 3.0f);
  run(product(dtype_of<Half>), 1, {a, b, c, d});
  for (std::size_t row = 0; row < kRows; ++row)
    for (std::size_t column = 0; column < kColumns; ++column) {
      double sum = c[row * kColumns + column];
      for (std::size_t i = 0; i < kDepth; ++i)
        sum +=
            static_cast<double>(static_cast<float>(a[row * kDepth + i])) * static_cast<float>(b[i * kColumns + column]);
      EXPECT_NEAR(d[row * kColumns + column], sum, 1e-5) << row << ", " << column;
    }
}

TEST(Fragments, MultiplyMatrices) {
  expect_product<F16>();
  expect_product<BF16>();
}

TEST(Fragments, BelongToWholeWarps) {
  const auto fragments = [](Builder& k) {
    const Expr word = k.thread().as(DType::U32), sum = k.thread().as(DType::F32);
    return k.multiply_fragments(DType::F16, std::vector(4, word), std::vector(2, word), std::vector(4, sum))[0];
  };
  EXPECT_EQ(said_of([&](Builder& k, const Buffer& x) {
              k.when(k.thread() < 20, [&] { x.store(k.thread(), fragments(k).as(DType::I32)); });
            }),
            "DeviceError: kernel wrong, block 0: only 20 of the threads 0 to 31 get to a product of fragments");
  EXPECT_EQ(said_of([](Builder& k, const Buffer&) {
              const Expr word = k.thread().as(DType::U32);
              k.multiply_fragments(DType::F16, std::vector(4, word), std::vector(2, word), std::vector(4, word));
            }),
            "ArgumentError: kernel: a fragment of uint32 where float32 belongs");
}

TEST(Fragments, AreReadInPairsThatSomebodyWrote) {
  const auto said = [](int written, int from) {
    return said_of([&](Builder& k, const Buffer& x) {
      const Shared halves = k.shared(DType::F16, 64);
      k.when(k.thread() < written, [&] { halves.store(k.thread(), k.literal(DType::F32, 1)); });
      k.barrier();
      k.when(k.thread() == 0, [&] { x.store(k.thread(), halves.pair(k.thread() + from).as(DType::I32)); });
    });
  };
  EXPECT_EQ(said(64, 62), "");
  EXPECT_EQ(
      said(63, 62),
      "DeviceError: kernel wrong, block 0: thread 0 reads element 63 of shared array 0, which nobody has written");
  EXPECT_EQ(said(64, 64),
            "DeviceError: kernel wrong, block 0: thread 0 touches the pair at 64 of shared array 0, which has 64");
  EXPECT_EQ(said(64, 1),
            "DeviceError: kernel wrong, block 0: thread 0 touches the pair at 1 of shared array 0, which has 64");
}

}  // namespace
}  // namespace kiln::gpu

// Elements of 1 and 2 bytes in shared memory, as words.
#include <array>

#include "tests/backend/gpu/lower/rules.hpp"

namespace kiln::gpu {
namespace {

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

/// 16 bytes at once, which are more words than a load of shared memory takes.
TEST(WideShared, IsLoadedAndStoredInParts) {
  for (const DType dtype : {DType::F16, DType::BF16, DType::I16, DType::U16, DType::I8, DType::U8}) {
    const int width = static_cast<int>(16 / size_of(dtype));
    const std::size_t count = 32 * static_cast<std::size_t>(width);
    std::vector<float> x(count), y(count);
    for (std::size_t i = 0; i < count; ++i) x[i] = static_cast<float>(i % 200);
    Builder k("wide", 32);
    const Buffer in = k.input(DType::F32), out = k.output(DType::F32);
    const Shared shared = k.shared(dtype, static_cast<std::int64_t>(count));
    const Expr first = k.thread() * width, other = (k.literal(DType::I32, 31) - k.thread()) * width;
    std::vector<Expr> values;
    for (int i = 0; i < width; ++i) values.push_back(in[first + i].as(expr::computed_in(dtype)));
    shared.store(first, values);
    k.barrier();
    const std::vector<Expr> back = shared.load(other, width);
    for (int i = 0; i < width; ++i) out.store(other + i, back[static_cast<std::size_t>(i)].as(DType::F32));
    const Kernel kernel = k.finish();
    EXPECT_EQ(left_in(lowered(kernel, poor_device())), "");
    run(kernel, 1, {x, y});
    for (std::size_t i = 0; i < count; ++i)
      ASSERT_EQ(y[i], dtype == DType::I8 ? static_cast<float>(static_cast<std::int8_t>(x[i])) : x[i])
          << name(dtype) << i;
    std::ranges::fill(y, 0);
    run_lowered(kernel, 1, {x, y});
    for (std::size_t i = 0; i < count; ++i)
      ASSERT_EQ(y[i], dtype == DType::I8 ? static_cast<float>(static_cast<std::int8_t>(x[i])) : x[i])
          << name(dtype) << i;
  }
}

}  // namespace
}  // namespace kiln::gpu

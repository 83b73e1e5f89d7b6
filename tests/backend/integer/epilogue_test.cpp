// Products of bytes with what follows them in one step: the bits of one operation after the other.
#include <gtest/gtest.h>

#include "kiln/ops/functions.hpp"
#include "kiln/ops/product/products.hpp"
#include "kiln/ops/read.hpp"
#include "kiln/ops/spatial/conv.hpp"
#include "tests/backend/integer/bytes.hpp"

namespace kiln {
namespace {

Value bytes_on(const Device& device, const Shape& shape, DType dtype, unsigned seed) {
  const std::vector<std::int64_t> numbers = cpu::whole_numbers(cpu::random_bytes(shape, dtype, seed));
  TensorData data(shape, dtype);
  for (std::size_t i = 0; i < numbers.size(); ++i) data.bytes()[i] = static_cast<std::byte>(numbers[i]);
  return from_data(std::move(data), device);
}

Value quantised(const Value& sums, const Value& scale, const Value& bias, DType dtype) {
  const Value real = (cast(sums, DType::F32) + cast(bias, DType::F32)) * scale;
  return cast(clamp(round(real) + 3, dtype == DType::U8 ? 0 : -128, dtype == DType::U8 ? 255 : 127), dtype);
}

std::vector<std::byte> bits(const Value& x) {
  const TensorData data = x.data();
  return {data.bytes().begin(), data.bytes().end()};
}

TEST(IntegerEpilogue, GivesWhatTheReferenceGivesOfMatrices) {
  for (const DType dtype : {DType::U8, DType::I8})
    for (const auto& [m, n, k] :
         std::initializer_list<std::array<std::int64_t, 3>>{{400, 330, 70}, {3, 200, 64}, {1030, 129, 33}}) {
      const auto run = [&](const Device& device) {
        const Value scale = arange(1, n + 1, 1, device, DType::F32) * 1e-5;
        return quantised(matmul_integer(bytes_on(device, {m, k}, DType::U8, 1), bytes_on(device, {k, n}, DType::I8, 2),
                                        bytes_on(device, {}, DType::U8, 3)),
                         scale, arange(0, n, 1, device, DType::I32), dtype);
      };
      EXPECT_EQ(bits(run(Device::cpu())), bits(run(Device::parse("reference")))) << m << ' ' << n << ' ' << k;
    }
}

TEST(IntegerEpilogue, GivesWhatTheReferenceGivesOfImages) {
  for (const std::int64_t groups : {1, 24})
    for (const DType dtype : {DType::U8, DType::I8}) {
      const auto run = [&](const Device& device) {
        const Value scale = arange(1, 25, 1, device, DType::F32) * 1e-5;
        const Value sums = conv_integer(bytes_on(device, {2, 24, 30, 31}, DType::U8, 1),
                                        bytes_on(device, {24, 24 / groups, 3, 3}, DType::I8, 2),
                                        bytes_on(device, {}, DType::U8, 3), {}, {.padding = {1, 1}, .groups = groups});
        return quantised(sums, reshape(scale, {24, 1, 1}), reshape(arange(0, 24, 1, device, DType::I32), {24, 1, 1}),
                         dtype);
      };
      EXPECT_EQ(bits(run(Device::cpu())), bits(run(Device::parse("reference")))) << groups;
    }
}

}  // namespace
}  // namespace kiln

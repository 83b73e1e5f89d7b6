// Reductions at a program's end give the bits of the reductions alone: of numbers whose sum depends on the order.
#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "kiln/core/grain.hpp"
#include "kiln/core/random.hpp"
#include "tests/backend/simd/harness.hpp"
#include "tests/fusion/fused_device.hpp"

namespace kiln::test {
namespace {

/// Large numbers that cancel each other out in each row, among small ones, which sums keep or lose by their order, in
/// float64 too. Besides zeros of both signs, and now and then a NaN.
Value wild(const Device& device, const Shape& shape, DType dtype, std::uint64_t seed, bool finite) {
  Random random(Key{seed});
  TensorData data(shape, DType::F64);
  const std::span<double> numbers = data.as<double>();
  double owed = 0;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const bool last = (i + 1) % static_cast<std::size_t>(shape.back()) == 0;
    const auto digits = static_cast<double>(random.below(255) - 127);
    if (owed != 0 && (last || random.below(3) == 0)) numbers[i] = -std::exchange(owed, 0);
    else if (owed == 0 && !last && random.below(3) == 0) numbers[i] = owed = std::ldexp(digits, 60);
    else if (!finite && random.below(3000) == 0) numbers[i] = std::nan("");
    else numbers[i] = random.below(8) ? std::ldexp(digits, static_cast<int>(random.below(20))) : -0.0;
  }
  return Value(device.backend().upload(data.to(dtype), device));
}
Value tame(const Device& device, const Shape& shape) {
  return reshape(arange(0, numel(shape), 1, device), shape) * 0.125;
}

/// What makes the numbers that are folded, as fast as chains go, out of step with them, and tile by tile.
Value made(const std::string& way, const Device& device, const Shape& shape, std::uint64_t seed, bool finite) {
  if (way == "in tiles") return cast(wild(device, shape, DType::F64, seed, finite) * 1.5, DType::F32) + 1.0;
  const Value x = wild(device, shape, DType::F32, seed, finite);
  if (way == "in two orders") {  // of which what is added follows the second
    const Value half = x * 0.5, across = permute(reshape(x, {shape[2], shape[0], shape[1]}), {1, 2, 0}) * 0.5;
    return across + half;
  }
  if (way == "in rows") return x + tame(device, {shape[0], shape[1], 1});
  if (way == "in columns") return x + tame(device, {shape[2]});
  return neg(x) * 0.5;
}

Values folds(const Value& x, int kept) {
  Dims dims;
  for (int dim = kept; dim < x.rank(); ++dim) dims.push_back(dim);
  return {sum(x, dims, true), mean(x, dims, true), max(x, dims, true), min(x, dims, true), sum(x * 0.5, dims, true)};
}

void expect_folds_of_one_order(const std::string& how) {
  const Shape shapes[] = {{2, 3, 128},  {3, 2, 129},   {2, 2, 200},  {1, 5, 255},
                          {2, 1, 1000}, {1, 2, 66000}, {2, 5, 20003}};
  for (const Shape& shape : shapes) {
    for (const char* const way : {"in place", "in rows", "in columns", "in tiles", "in two orders"}) {
      for (int kept = 0; kept < 3; ++kept) {
        const FusedDevice fused;
        const bool finite = shape[2] % 2 == 0;
        const std::uint64_t seed = static_cast<std::uint64_t>(numel(shape) + 7 * kept);
        const Values alone = folds(made(way, Device::cpu(), shape, seed, finite), kept);
        const Values together = folds(made(way, fused.device, shape, seed, finite), kept);
        for (std::size_t i = 0; i < alone.size(); ++i) {
          const TensorData expected = alone[i].data(), found = together[i].data();
          for (std::int64_t k = 0; k < expected.numel(); ++k) {
            const double a = expected.at(k), b = found.at(k);
            ASSERT_TRUE((a == b && std::signbit(a) == std::signbit(b)) || (std::isnan(a) && std::isnan(b)))
                << text(how, shape, ' ', way, ", from dimension ", kept, " on, result ", i, ", element ", k, ": ", b,
                        " where the reduction alone gives ", a);
          }
        }
      }
    }
  }
}

TEST(FusedFolds, AddUpInTheOrderOfTheReductionAlone) {
  cpu::simd::for_each_target([] { expect_folds_of_one_order(""); });
}

TEST(FusedFolds, DoSoInSmallPieces) {
  for (const std::int64_t grain : {7, 130, 1000}) {
    limit_grain(grain);
    expect_folds_of_one_order(text("pieces of ", grain, ", "));
  }
  limit_grain(0);
}

}  // namespace
}  // namespace kiln::test

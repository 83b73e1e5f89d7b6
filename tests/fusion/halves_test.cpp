// Programs of halves give the bits of their operations alone, however they are run.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "kiln/core/parallel.hpp"
#include "kiln/ops/functions.hpp"
#include "tests/fusion/fused_device.hpp"

namespace kiln::test {
namespace {

using std::int64_t;

Value upload(const Device& device, TensorData data) { return Value(device.backend().upload(std::move(data), device)); }

/// Each of the 65536 halves there are.
Value all_halves(const Device& device, DType dtype) {
  TensorData data({65536}, dtype);
  for (std::uint32_t i = 0; i < 65536; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    std::memcpy(data.bytes().data() + 2 * i, &bits, 2);
  }
  return upload(device, std::move(data));
}

/// Numbers of many sizes, with more digits than halves have.
Value singles(const Device& device, const Shape& shape, double scale = 1) {
  TensorData data(shape, DType::F32);
  std::int64_t i = 0;
  for (float& number : data.as<float>())
    number = static_cast<float>(scale * std::sin(0.37 * static_cast<double>(++i)) * 3);
  return upload(device, std::move(data));
}

/// The results of program(device), which are to be the same on a device that fuses as on one that does not.
template <class F>
void expect_same_bits(const std::string& what, F&& program) {
  const FusedDevice fused;
  const Values alone = program(Device::cpu()), together = program(fused.device);
  fused.device.flush();
  for (std::size_t i = 0; i < alone.size(); ++i) {
    const TensorData expected = alone[i].data(), found = together[i].data();
    ASSERT_EQ(found.dtype(), expected.dtype());
    for (int64_t k = 0; k < expected.numel(); ++k) {
      const double a = expected.at(k), b = found.at(k);
      ASSERT_TRUE((a == b && std::signbit(a) == std::signbit(b)) || (std::isnan(a) && std::isnan(b)))
          << what << ", result " << i << ", element " << k << ": " << b << " where the operations alone give " << a;
    }
  }
}

constexpr DType kHalves[] = {DType::BF16, DType::F16};

TEST(FusedHalves, AreRoundedAfterEachStep) {
  for (const DType dtype : kHalves) {
    expect_same_bits(text("arithmetic in ", dtype), [&](const Device& device) {
      const Value x = all_halves(device, dtype), y = cast(singles(device, {65536}), dtype);
      return Values{x * 1.7 + y, (x + y) * (x - y) / 3, x * x + y * y, neg(x * 0.1) + abs(y / x), relu(x - 0.3) * y};
    });
    expect_same_bits(text("functions in ", dtype), [&](const Device& device) {
      const Value x = all_halves(device, dtype);
      return Values{x * 0.5 * (erf(x * 0.70710678) + 1), exp(neg(square(x * 0.3))) + sin(x) * 0.2,
                    sigmoid(x * 1.3) * tanh(x + 0.01), sqrt(abs(x) + 1e-3) / (log(square(x) + 2) + 1)};
    });
    expect_same_bits(text("choices in ", dtype), [&](const Device& device) {
      const Value x = all_halves(device, dtype), y = cast(singles(device, {65536}), dtype);
      return Values{where(lt(x * 3, y), x * 1.1, 0.1) + y, maximum(x * 1.1, 0.1) * 3, minimum(y / 3, x) - 0.2,
                    cast(gt(x * 1.01, y), dtype) * 0.3 + x};
    });
  }
}

TEST(FusedHalves, AreWhatTheyAreCastTo) {
  for (const DType dtype : kHalves) {
    expect_same_bits(text("casts to ", dtype), [&](const Device& device) {
      const Value x = singles(device, {5003});
      return Values{cast(cast(x, dtype) * 1.5, DType::F32), cast(cast(cast(x, dtype), DType::F32) * 1.1, dtype) + 1,
                    cast(cast(x * 1.1, dtype), DType::F32) - x};
    });
  }
  // And by the definition: once to half, the product once more.
  const FusedDevice fused;
  const Value x = singles(fused.device, {5003});
  const std::vector<float> numbers = x.data().to_vector<float>(),
                           found = cast(cast(x, DType::F16) * 1.5, DType::F32).data().to_vector<float>();
  for (std::size_t i = 0; i < numbers.size(); ++i)
    ASSERT_EQ(found[i], static_cast<float>(F16(static_cast<float>(F16(numbers[i])) * 1.5f)));
}

TEST(FusedHalves, KeepTheirDigitsBesideOtherTypes) {
  for (const DType dtype : kHalves) {
    expect_same_bits(text(dtype, " beside float64 and integers"), [&](const Device& device) {
      const Value wide = cast(singles(device, {4099}), DType::F64) / 7, whole = cast(wide * 1000, DType::I64),
                  half = cast(wide, dtype);
      return Values{cast(half * 1.3 + 0.1, DType::F64) * wide, cast(cast(wide * 1.1, dtype) / 3, DType::F64) + wide,
                    cast(whole * 3, dtype) * 0.7 - half, cast(cast(whole, dtype) + half, DType::F64) - wide};
    });
  }
}

TEST(FusedHalves, TakeNumbersForTensorsThatAreFullOfThem) {
  for (const DType dtype : {DType::BF16, DType::F16, DType::F32, DType::I64})
    expect_same_bits(text("filled tensors of ", dtype), [&](const Device& device) {
      const Value x = cast(singles(device, {300}), dtype);
      const Value tenth = full({300}, 2.7, device, dtype);
      Values results{x * tenth, x + tenth};
      if (is_float(dtype)) results.push_back(x * (tenth * 1.1) + square(tenth) * (tenth + 0.1));
      return results;
    });
}

TEST(FusedHalves, AreTheSameInEpiloguesAndBlocks) {
  for (const DType dtype : kHalves) {
    expect_same_bits(text("a product in ", dtype), [&](const Device& device) {
      const Value x = cast(singles(device, {520, 40}), dtype), w = cast(singles(device, {40, 300}, 0.2), dtype),
                  bias = cast(singles(device, {300}), dtype);
      const Value h = matmul(x, w) + bias;
      return Values{h * 0.5 * (erf(h * 0.7) + 1)};
    });
    expect_same_bits(text("rows in ", dtype), [&](const Device& device) {
      const Value x = cast(singles(device, {1100, 1024}), dtype);
      const Value powers = exp((x - max(x, {1}, true)) * 0.3);
      return Values{powers / sum(powers, {1}, true) * 1.1 + x};
    });
  }
}

TEST(FusedHalves, AreConvertedAsTheyArePutTogether) {
  for (const DType dtype : kHalves) {
    expect_same_bits(text("widened ", dtype), [&](const Device& device) {
      const Value x = all_halves(device, dtype), y = singles(device, {3, 5});
      const Value wide = cast(x, DType::F32), narrow = cast(y, dtype);
      return Values{ravel(Values{wide, y, cast(narrow, DType::F32)}, DType::F32), ravel(Values{y, wide}, dtype),
                    ravel(Values{narrow, cast(wide, DType::F64), y}, DType::F64), wide + 1};
    });
  }
}

}  // namespace
}  // namespace kiln::test

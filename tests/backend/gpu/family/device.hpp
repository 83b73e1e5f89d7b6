// A GPU for tests, which checks every access of its kernels, and data to compare with loops.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <ostream>
#include <random>
#include <vector>

#include "kiln/backend/gpu/gpu.hpp"
#include "kiln/backend/gpu/simulated/simulated.hpp"
#include "kiln/ops/emit.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/op.hpp"

namespace kiln {
inline std::ostream& operator<<(std::ostream& out, DType dtype) { return out << name(dtype); }
}  // namespace kiln

namespace kiln::test {

inline const Device& simulated() {
  static const Device* const device = new Device(make_ref<gpu::Gpu>(gpu::make_simulated()));
  return *device;
}

inline constexpr DType kAllTypes[] = {DType::F64, DType::F32, DType::F16, DType::BF16, DType::I64,
                                      DType::I32, DType::I16, DType::I8,  DType::U64,  DType::U32,
                                      DType::U16, DType::U8,  DType::Bool};

inline std::size_t places(const Shape& shape) { return static_cast<std::size_t>(numel(shape)); }

/// `distinct` different whole numbers around 0, which every type holds (but for their signs), in a random order.
inline TensorData whole_numbers(const Shape& shape, DType dtype, int distinct, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::vector<double> numbers(places(shape));
  for (double& number : numbers)
    number = static_cast<int>(random() % static_cast<unsigned>(distinct)) - (is_float(dtype) ? distinct / 2 : 0);
  return TensorData::of<double>(shape, std::span<const double>(numbers)).to(dtype);
}

inline TensorData indices(const Shape& shape, std::int64_t size, unsigned seed = 1, DType dtype = DType::I64) {
  std::mt19937 random(seed);
  std::vector<std::int64_t> numbers(places(shape));
  for (std::int64_t& number : numbers) number = static_cast<std::int64_t>(random()) % size;
  return TensorData::of<std::int64_t>(shape, std::span<const std::int64_t>(numbers)).to(dtype);
}

inline bool same_bytes(const TensorData& a, const TensorData& b) {
  return a.shape() == b.shape() && a.dtype() == b.dtype() && std::ranges::equal(a.bytes(), b.bytes());
}

/// Calls f(index) for each index of a shape, in row-major order.
template <class F>
void each_index(const Shape& shape, F&& f) {
  Dims index = Dims::filled(shape.size(), 0);
  for (std::int64_t left = numel(shape); left > 0; --left) {
    f(index);
    for (int i = shape.size() - 1; i >= 0 && ++index[i] == shape[i]; --i) index[i] = 0;
  }
}
inline std::size_t place_of(const Shape& shape, const Dims& index) {
  std::int64_t place = 0;
  for (int i = 0; i < shape.size(); ++i) place = place * shape[i] + index[i];
  return static_cast<std::size_t>(place);
}

/// The element, as its bits.
inline std::uint64_t bits_at(const TensorData& data, std::size_t place) {
  const std::size_t size = size_of(data.dtype());
  std::uint64_t bits = 0;
  std::memcpy(&bits, data.bytes().data() + place * size, size);
  return bits;
}

/// The same numbers, once those that are wanted are rounded to elements.
inline void expect_numbers(const TensorData& found, const std::vector<double>& wanted, const std::string& what) {
  const TensorData rounded = TensorData::of<double>(found.shape(), std::span<const double>(wanted)).to(found.dtype());
  const std::vector<double> a = found.to_vector<double>(), b = rounded.to_vector<double>();
  ASSERT_EQ(a.size(), b.size()) << what;
  for (std::size_t i = 0; i < a.size(); ++i)
    ASSERT_TRUE(a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])))
        << what << ": element " << i << " is " << a[i] << ", not " << b[i];
}

inline Value uploaded(const Shape& shape, const std::vector<double>& numbers, DType dtype) {
  return Value(simulated().backend().upload(TensorData::of<double>(shape, std::span<const double>(numbers)).to(dtype),
                                            simulated()));
}
/// Infinities are equal or not.
inline void expect_near(const Value& value, const std::vector<double>& wanted, double tolerance,
                        const std::string& what) {
  const std::vector<double> found = value.data().to(DType::F64).to_vector<double>();
  ASSERT_EQ(found.size(), wanted.size()) << what;
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i] == wanted[i]) continue;
    ASSERT_NEAR(found[i], wanted[i], tolerance) << what << " at " << i;
  }
}

}  // namespace kiln::test

// Gives kernels rows of floats or halves in single precision.
#pragma once
#include <algorithm>
#include <vector>

#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/backend/cpu/simd/elementwise/convert.hpp"

namespace kiln::cpu::simd {

/// The rows of x, of `length` elements each, and those of z, which has the type of x. Both are row-major.
class FloatRows {
 public:
  FloatRows(const Array& x, const Array& z, std::int64_t length)
      : from_(x.data), to_(z.data), dtype_(x.dtype), length_(length) {}

  /// Calls f(const float* from) for row i.
  template <class F>
  void read(std::int64_t i, F&& f) const {
    const std::byte* const from = from_ + i * length_ * static_cast<std::int64_t>(size_of(dtype_));
    if (dtype_ == DType::F32) return f(reinterpret_cast<const float*>(from));
    static thread_local std::vector<float> floats;
    floats.resize(static_cast<std::size_t>(length_));
    convert(dtype_, from, DType::F32, floats.data(), length_);
    f(floats.data());
  }

  /// Calls f(const float* from, float* to) for row i; `to` may equal `from`. A row of halves is converted before and
  /// after.
  template <class F>
  void row(std::int64_t i, F&& f) const {
    rows(i, i + 1, [&](const float* from, float* to, std::int64_t) { f(from, to); });
  }
  /// Calls f(const float* from, float* to, count) for `count` of the rows [begin, end) at a time.
  template <class F>
  void rows(std::int64_t begin, std::int64_t end, F&& f) const {
    const auto size = static_cast<std::int64_t>(size_of(dtype_));
    if (dtype_ == DType::F32)
      return f(reinterpret_cast<const float*>(from_ + begin * length_ * size),
               reinterpret_cast<float*>(to_ + begin * length_ * size), end - begin);
    constexpr std::int64_t kConverted = 4096;  // elements that are converted at once, unless one row is longer
    const std::int64_t most = std::max<std::int64_t>(1, kConverted / std::max<std::int64_t>(1, length_));
    static thread_local std::vector<float> floats;
    for (std::int64_t row = begin; row < end; row += most) {
      const std::int64_t some = std::min(most, end - row), count = some * length_, offset = row * length_ * size;
      floats.resize(static_cast<std::size_t>(count));
      convert(dtype_, from_ + offset, DType::F32, floats.data(), count);
      f(floats.data(), floats.data(), some);
      convert(DType::F32, floats.data(), dtype_, to_ + offset, count);
    }
  }

 private:
  const std::byte* from_;
  std::byte* to_;
  DType dtype_;
  std::int64_t length_;
};

}  // namespace kiln::cpu::simd

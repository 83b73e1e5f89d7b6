// Rows of floats or of halves, which kernels see in single precision.
#pragma once
#include <vector>

#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/backend/cpu/simd/elementwise/convert.hpp"

namespace kiln::cpu::simd {

/// Rows of `length` elements, row-major, from x to z, which has x's type.
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

  /// Calls f(const float* from, float* to) for row i; to may be from. A row of halves is converted before and after.
  template <class F>
  void row(std::int64_t i, F&& f) const {
    const std::int64_t offset = i * length_ * static_cast<std::int64_t>(size_of(dtype_));
    if (dtype_ == DType::F32)
      return f(reinterpret_cast<const float*>(from_ + offset), reinterpret_cast<float*>(to_ + offset));
    static thread_local std::vector<float> floats;
    floats.resize(static_cast<std::size_t>(length_));
    convert(dtype_, from_ + offset, DType::F32, floats.data(), length_);
    f(floats.data(), floats.data());
    convert(DType::F32, floats.data(), dtype_, to_ + offset, length_);
  }

 private:
  const std::byte* from_;
  std::byte* to_;
  DType dtype_;
  std::int64_t length_;
};

}  // namespace kiln::cpu::simd

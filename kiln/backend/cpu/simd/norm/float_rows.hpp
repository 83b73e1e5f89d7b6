// Gives kernels rows of floats or halves in single precision.
#pragma once
#include <algorithm>
#include <vector>

#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/backend/cpu/simd/elementwise/convert.hpp"

namespace kiln::cpu::simd {

/// Rows of `length` contiguous elements of x, and those of z, which has the type of x. Row r begins at element
/// r * step, and has `runs` further parts, `apart` elements from one to the next.
class FloatRows {
 public:
  FloatRows(const Array& x, const Array& z, std::int64_t length, std::int64_t runs = 1, std::int64_t apart = 0)
      : from_(x.data), to_(z.data), dtype_(x.dtype), length_(length), runs_(runs), apart_(apart) {}

  bool are_copied() const { return dtype_ != DType::F32; }
  /// Calls f(const float* from, float* to, first, count) for `count` of the rows [begin, end) at a time, where `to` may
  /// equal `from`. Rows of halves are converted before and after; a row's parts then follow one another.
  template <class F>
  void each(std::int64_t begin, std::int64_t end, F&& f) const {
    if (!are_copied())
      return f(reinterpret_cast<const float*>(from_) + begin * length_, reinterpret_cast<float*>(to_) + begin * length_,
               begin, end - begin);
    constexpr std::int64_t kConverted = 4096;  // elements that are converted at once, unless one row is longer
    const std::int64_t size = static_cast<std::int64_t>(size_of(dtype_));
    const std::int64_t most =
        runs_ > 1 ? 1 : std::max<std::int64_t>(1, kConverted / std::max<std::int64_t>(1, length_));
    static thread_local std::vector<float> floats;
    for (std::int64_t row = begin; row < end; row += most) {
      const std::int64_t some = std::min(most, end - row), count = some * length_;
      floats.resize(static_cast<std::size_t>(count * runs_));
      for (std::int64_t run = 0; run < runs_; ++run)
        convert(dtype_, from_ + (row * length_ + run * apart_) * size, DType::F32, floats.data() + run * count, count);
      f(floats.data(), floats.data(), row, some);
      for (std::int64_t run = 0; run < runs_; ++run)
        convert(DType::F32, floats.data() + run * count, dtype_, to_ + (row * length_ + run * apart_) * size, count);
    }
  }

 private:
  const std::byte* from_;
  std::byte* to_;
  DType dtype_;
  std::int64_t length_, runs_, apart_;
};

}  // namespace kiln::cpu::simd

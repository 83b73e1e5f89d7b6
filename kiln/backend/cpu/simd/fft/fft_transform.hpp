// The Fourier transform of any length, for a block of lines or for one long line.
#pragma once
#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/backend/cpu/simd/fft/fft_plan.hpp"

namespace kiln::cpu::simd {

/// A buffer of uninitialised complex numbers, aligned for the widest vectors.
template <class T>
class FftBuffer {
 public:
  explicit FftBuffer(std::int64_t count)
      : half_((count + 15) / 16 * 16), memory_(2 * static_cast<std::size_t>(half_) * sizeof(T)) {}
  Split<T> split() const {
    auto* const numbers = reinterpret_cast<T*>(memory_.bytes());
    return {numbers, numbers + half_};
  }

 private:
  std::int64_t half_;
  Memory memory_;
};

/// Transforms a block of kColumns lines (see fft_columns.hpp). x and y must have space for plan.capacity() elements of
/// each line. Returns the one that holds the result.
template <class T>
Split<T> transform_columns(const FftPlan<T>& plan, Split<T> x, Split<T> y);

/// Transforms one line in place, on several threads if it is long. x must have space for plan.capacity() elements.
template <class T>
void transform_line(const FftPlan<T>& plan, Split<T> x);

}  // namespace kiln::cpu::simd

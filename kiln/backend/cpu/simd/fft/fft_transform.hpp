// The Fourier transform of any length, for a block of lines or for one long line.
#pragma once
#include <memory>

#include "kiln/backend/cpu/simd/fft/fft_plan.hpp"

namespace kiln::cpu::simd {

/// A buffer of uninitialised complex numbers, aligned for the widest vectors.
template <class T>
class FftBuffer {
 public:
  explicit FftBuffer(std::int64_t count);
  Split<T> split() const { return {memory_.get(), memory_.get() + half_}; }

 private:
  struct Free {
    void operator()(T* memory) const;
  };
  std::int64_t half_;
  std::unique_ptr<T[], Free> memory_;
};

/// Transforms a block of kColumns lines (see fft_columns.hpp). x and y must have space for plan.capacity() elements of
/// each line. Returns the one that holds the result.
template <class T>
Split<T> transform_columns(const FftPlan<T>& plan, Split<T> x, Split<T> y);

/// Transforms one line in place, on several threads if it is long. x must have space for plan.capacity() elements.
template <class T>
void transform_line(const FftPlan<T>& plan, Split<T> x);

}  // namespace kiln::cpu::simd

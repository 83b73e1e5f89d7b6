// The Fourier transform of a length of any kind, for a block of lines side by side or for one long line.
#pragma once
#include <memory>

#include "kiln/backend/cpu/simd/fft/fft_plan.hpp"

namespace kiln::cpu::simd {

/// Uninitialised numbers, aligned for the widest vectors.
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

/// Transforms a block of kColumns lines (see fft_columns.hpp). x and y have room for plan.capacity() elements of each
/// line; the one that holds the result is returned.
template <class T>
Split<T> transform_columns(const FftPlan<T>& plan, Split<T> x, Split<T> y);

/// Transforms one line in place, with several threads where it is long. x has room for plan.capacity() elements.
template <class T>
void transform_line(const FftPlan<T>& plan, Split<T> x);

}  // namespace kiln::cpu::simd

// The sign of eigenvectors and singular vectors, which is the same for all kernels.
#pragma once
#include <cmath>
#include <cstdint>

namespace kiln::cpu {

/// Whether the first of the elements within a tenth of the largest magnitude is negative. The largest itself would not
/// do: of two that are equal but for rounding, either might be the largest.
template <class T>
bool points_backwards(const T* elements, std::int64_t count, std::int64_t step) {
  T largest = 0;
  for (std::int64_t i = 0; i < count; ++i) largest = std::fmax(largest, std::abs(elements[i * step]));
  for (std::int64_t i = 0; i < count; ++i)
    if (std::abs(elements[i * step]) >= T(0.9) * largest) return elements[i * step] < 0;
  return false;
}

template <class T>
void negate(T* elements, std::int64_t count, std::int64_t step) {
  for (std::int64_t i = 0; i < count; ++i) elements[i * step] = -elements[i * step];
}

}  // namespace kiln::cpu

// Keeps keys that a query may not see out of its results, also where they hold NaN or infinity.
#include <algorithm>
#include <cmath>
#include <limits>

#include "kiln/backend/cpu/simd/attention/attention.hpp"

namespace kiln::cpu::simd {

using std::int64_t;

template <class T>
bool has_nan(const T* x, int64_t count) {
  constexpr int64_t kAtOnce = 64;
  int64_t i = 0;
  for (; i + kAtOnce <= count; i += kAtOnce) {
    int found = 0;  // has no branch, so that the compiler vectorises the loop
    for (int64_t j = 0; j < kAtOnce; ++j) found |= static_cast<int>(x[i + j] != x[i + j]);
    if (found) return true;
  }
  return std::any_of(x + i, x + count, [](T each) { return std::isnan(each); });
}

template <class T>
void note_hidden(const T* scores, int64_t count, std::uint8_t* hidden) {
  for (int64_t i = 0; i < count; ++i)
    hidden[i] = static_cast<std::uint8_t>(scores[i] == -std::numeric_limits<T>::infinity());
}

template <class T>
void clear_hidden(const std::uint8_t* hidden, int64_t count, T* x) {
  for (int64_t i = 0; i < count; ++i)
    if (hidden[i]) x[i] = 0;
}

template <class T>
bool copy_finite(const T* from, int64_t count, T* to) {
  bool changed = false;
  for (int64_t i = 0; i < count; ++i) {
    const bool finite = std::isfinite(from[i]);
    to[i] = finite ? from[i] : T{0};
    changed = changed || !finite;
  }
  return changed;
}

template <class T>
void add_not_finite(const PairWeights<T>& pairs, bool of_keys, const T* x, int64_t row, int64_t count, int64_t width,
                    T* sums, int64_t sums_row, int64_t others) {
  for (int64_t from = 0; from < count; ++from)
    for (int64_t j = 0; j < width; ++j) {
      const T value = x[from * row + j];
      if (std::isfinite(value)) continue;
      for (int64_t to = 0; to < others; ++to) {
        const int64_t pair = of_keys ? from * pairs.key + to : to * pairs.key + from;
        if (!pairs.hidden[pair]) sums[to * sums_row + j] += pairs.weights[pair] * value;
      }
    }
}

template bool has_nan(const float*, int64_t);
template bool has_nan(const double*, int64_t);
template void note_hidden(const float*, int64_t, std::uint8_t*);
template void note_hidden(const double*, int64_t, std::uint8_t*);
template void clear_hidden(const std::uint8_t*, int64_t, float*);
template void clear_hidden(const std::uint8_t*, int64_t, double*);
template bool copy_finite(const float*, int64_t, float*);
template bool copy_finite(const double*, int64_t, double*);
template void add_not_finite(const PairWeights<float>&, bool, const float*, int64_t, int64_t, int64_t, float*, int64_t,
                             int64_t);
template void add_not_finite(const PairWeights<double>&, bool, const double*, int64_t, int64_t, int64_t, double*,
                             int64_t, int64_t);

}  // namespace kiln::cpu::simd

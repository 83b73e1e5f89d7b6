// The plan of a norm: which elements share a mean and a variance, and which share a weight and a bias. Layer norm, RMS
// norm, group norm, instance norm and batch norm are such plans, and the kernels know only these.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <vector>

#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/backend/cpu/simd/elementwise/convert.hpp"
#include "kiln/core/grain.hpp"

namespace kiln::cpu::simd {

/// There are `rows` groups of elements that share their statistics, called rows here. A row has `runs` runs of `length`
/// contiguous elements, `apart` elements from one run to the next; row r begins at element r * length. Elements of one
/// letter are one row:
///
///   layer norm                     a a a a, b b b b             one run, in which each element has its own weight
///   group norm, instance norm      a a a a, b b b b             one run, in which `inner` neighbours share a weight
///   batch norm of planes           a a, b b, a a, b b           a run for each image, with one weight
///   batch norm of channels last    a b, a b, a b, a b           runs of one element: columns
///
/// The weights and biases of row r are those from r % kinds * weights() on.
struct NormPlan {
  std::int64_t rows, length;
  std::int64_t runs = 1, apart = 0;
  std::int64_t inner = 1, kinds = 1;
  double epsilon = 0;
  bool centred = true;  // otherwise the mean counts as 0, also in the variance

  std::int64_t count() const { return runs * length; }
  std::int64_t weights() const { return length / inner; }
  bool is_by_columns() const { return length == 1 && runs > 1; }
  /// The fewest neighbours with one weight that are worth a vector.
  static constexpr std::int64_t kShortest = 16;
  bool fits() const { return rows > 0 && count() > 0 && (is_by_columns() || inner == 1 || inner >= kShortest); }
};

/// The moments of some numbers: their mean, which is near + rest, and the sum of their squared distances to it. The
/// rounding error of `near` alone may be larger than the deviations of the numbers.
struct Moments {
  double count = 0, near = 0, rest = 0, squares = 0;

  /// Adds the moments of other numbers. From Chan, Golub, LeVeque, 1983.
  void merge(const Moments& other) {
    if (count == 0) {
      *this = other;
      return;
    }
    const double total = count + other.count, fraction = other.count / total;
    const double distance = (other.near - near) + (other.rest - rest);
    rest += distance * fraction;
    squares += other.squares + distance * distance * count * fraction;
    count = total;
  }
  double mean() const { return near + rest; }
  double variance() const { return squares / count; }
};

/// The most elements whose float sums are exact enough; they stay in the first-level cache.
inline constexpr std::int64_t kNormPiece = 4096;

/// Splits `rows` rows of `length` elements each into at most kMost parts, for sums over rows.
struct NormParts {
  static constexpr std::int64_t kMost = 32, kGrain = 8192;
  std::int64_t rows, grain;

  NormParts(std::int64_t rows, std::int64_t length)
      : rows(rows),
        grain(std::max({(rows + kMost - 1) / kMost, limited_grain(kGrain / std::max<std::int64_t>(length, 1)),
                        std::int64_t{1}})) {}
  std::int64_t count() const { return (rows + grain - 1) / grain; }
  /// Calls f(part, begin, end) for each part, which has rows [begin, end), on several threads.
  template <class F>
  void each(F&& f) const {
    parallel_chunks(rows, grain, [&](std::int64_t begin, std::int64_t end) { f(begin / grain, begin, end); });
  }
};

/// The numbers of an operand in T, in row-major order: in place if they are stored so, otherwise as a copy. An absent
/// operand is `count` times `missing`.
template <class T>
class NumbersOf {
 public:
  NumbersOf(const Value& value, std::int64_t count = 0, T missing = 0) {
    if (value.empty()) {
      copy_.resize(static_cast<std::size_t>(count), missing);
    } else {
      const Array array = read_contiguous(value, held_);
      data_ = array.as<const T>();
      if (array.dtype == dtype_of<T>) return;
      copy_.resize(static_cast<std::size_t>(array.numel()));
      convert(array.dtype, array.data, dtype_of<T>, copy_.data(), array.numel());
    }
    data_ = copy_.data();
  }
  NumbersOf(const NumbersOf&) = delete;
  NumbersOf& operator=(const NumbersOf&) = delete;
  const T* data() const { return data_; }

 private:
  Value held_;
  std::vector<T> copy_;
  const T* data_ = nullptr;
};

}  // namespace kiln::cpu::simd

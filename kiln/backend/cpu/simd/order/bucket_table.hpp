// Finds the position of a value among ascending numbers by a table. The range of the numbers is split into equal parts,
// and the table has how many numbers are before each part.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

namespace kiln::cpu::simd {

/// The table for a line of floats or doubles. For other types fit() is false.
template <class T>
class BucketTable {
 public:
  static constexpr bool kTakes = std::is_floating_point_v<T>;
  BucketTable(const T* line, std::int64_t length);
  /// Returns whether each part has so few numbers that a linear search in it is shorter than a binary search of the
  /// line.
  bool is_usable() const { return steps_ >= 0; }
  /// Returns how many numbers are smaller than x, or not larger if `right`. x must not be NaN.
  template <bool right>
  std::int64_t find(T x) const {
    std::int64_t before = before_[part(x)];
    for (int step = 0; step < steps_; ++step)
      before += right ? line_[static_cast<std::size_t>(before)] <= x : line_[static_cast<std::size_t>(before)] < x;
    return std::min(before, length_);
  }

 private:
  static constexpr std::int64_t kMostNumbers = 4096, kPartsEach = 8;

  /// Returns the part of x. Each operation is monotonic in x however it is rounded, so a number in an earlier part than
  /// that of x is smaller than x, and one in a later part is larger.
  std::size_t part(T x) const { return static_cast<std::size_t>(std::min(std::max((x - low_) * scale_, T(0)), last_)); }

  std::int64_t length_;
  int steps_ = -1;
  T low_ = 0, scale_ = 0, last_ = 0;
  std::vector<T> line_;  // followed by infinities, so that find() need not check the end
  std::vector<std::int32_t> before_;
};

template <class T>
BucketTable<T>::BucketTable(const T* line, std::int64_t length) : length_(length) {
  if constexpr (kTakes) {
    constexpr T infinity = std::numeric_limits<T>::infinity();
    if (length < 2 || length > kMostNumbers) return;
    const auto parts = static_cast<std::size_t>(length * kPartsEach);
    low_ = line[0];
    last_ = static_cast<T>(parts - 1);
    scale_ = last_ / (line[length - 1] - low_);
    // The comparison is false also if the range is empty or not finite.
    if (!(scale_ > 0 && scale_ < infinity)) return;
    before_.assign(parts + 1, 0);
    for (std::int64_t i = 0; i < length; ++i) {
      if (!(line[i] >= low_ && line[i] < infinity)) return;
      ++before_[part(line[i]) + 1];
    }
    const std::int32_t most = *std::max_element(before_.begin(), before_.end());
    if (2 * most > static_cast<std::int32_t>(std::bit_width(static_cast<std::uint64_t>(length)))) return;
    for (std::size_t i = 1; i <= parts; ++i) before_[i] += before_[i - 1];
    line_.assign(line, line + length);
    line_.insert(line_.end(), static_cast<std::size_t>(most), infinity);
    steps_ = most;
  }
}

}  // namespace kiln::cpu::simd

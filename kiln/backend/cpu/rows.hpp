// Visits several strided arrays of one shape at once, a row at a time.
#pragma once
#include <algorithm>
#include <array>

#include "kiln/backend/cpu/kernel.hpp"

namespace kiln::cpu {

/// Returns the same elements repeated along dimensions of size 1 and along new leading ones, to give `shape`.
Array broadcast_to(const Array& array, const Shape& shape);

/// The order in which N arrays of one shape are visited: neighbouring dimensions are merged where all arrays allow it,
/// and the dimension in which the first array's elements are closest together becomes the row.
template <int N>
class Rows {
 public:
  /// strides[k][i] is the distance in elements between neighbours of array k in dimension i.
  Rows(const Shape& shape, const std::array<Dims, N>& strides);

  std::int64_t count() const { return count_; }    // of rows; 0 where the shape is empty
  std::int64_t length() const { return length_; }  // elements of each row
  /// The dimensions in which rows are counted, the outermost first, and the strides of array k in them.
  const Shape& outer() const { return outer_; }
  const Dims& strides(int k) const { return strides_[static_cast<std::size_t>(k)]; }
  /// The distance in elements between neighbours of a row, for each array.
  const std::array<std::int64_t, N>& steps() const { return steps_; }

  /// Calls row(offsets), the first element of the row in each array, for rows [begin, end).
  template <class F>
  void each(std::int64_t begin, std::int64_t end, F&& row) const;
  template <class F>
  void each(F&& row) const {
    each(0, count_, row);
  }

 private:
  Shape outer_;  // sizes of the dimensions that rows are counted in
  std::array<Dims, N> strides_;
  std::array<std::int64_t, N> steps_{};
  std::int64_t count_ = 0, length_ = 1;
};

/// Copies elements; both have the same shape and element type and do not overlap.
void copy(const Array& from, const Array& to);

template <int N>
Rows<N>::Rows(const Shape& shape, const std::array<Dims, N>& strides) {
  // The dimensions with more than one element, from the largest stride of the first array to the smallest.
  InlineList<int, kMaxRank> order;
  for (int i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0) return;
    if (shape[i] == 1) continue;
    int at = order.size();
    const auto distance = [&](int dim) { return strides[0][dim] < 0 ? -strides[0][dim] : strides[0][dim]; };
    while (at > 0 && distance(order[at - 1]) < distance(i)) --at;
    order.insert(at, i);
  }
  Shape sizes;
  for (const int dim : order) {
    bool merges = !sizes.empty();
    for (int k = 0; k < N && merges; ++k)
      merges = strides_[static_cast<std::size_t>(k)].back() == strides[static_cast<std::size_t>(k)][dim] * shape[dim];
    if (merges) sizes.back() *= shape[dim];
    else sizes.push_back(shape[dim]);
    for (std::size_t k = 0; k < N; ++k) {
      if (merges) strides_[k].back() = strides[k][dim];
      else strides_[k].push_back(strides[k][dim]);
    }
  }
  count_ = 1;
  if (sizes.empty()) return;
  length_ = sizes.back();
  sizes.pop_back();
  for (std::size_t k = 0; k < N; ++k) {
    steps_[k] = strides_[k].back();
    strides_[k].pop_back();
  }
  outer_ = sizes;
  count_ = numel(outer_);
}

template <int N>
template <class F>
void Rows<N>::each(std::int64_t begin, std::int64_t end, F&& row) const {
  if (begin >= end) return;
  Dims at = outer_;
  std::array<std::int64_t, N> offsets{};
  std::int64_t rest = begin;
  for (int i = outer_.size() - 1; i >= 0; --i) {
    at[i] = rest % outer_[i];
    rest /= outer_[i];
    for (std::size_t k = 0; k < N; ++k) offsets[k] += at[i] * strides_[k][i];
  }
  // Rows along the last dimension are visited in an inner loop.
  const int last = outer_.size() - 1;
  const std::int64_t beside = last < 0 ? 1 : outer_[last];
  std::array<std::int64_t, N> steps{};
  for (std::size_t k = 0; k < N && last >= 0; ++k) steps[k] = strides_[k][last];
  for (std::int64_t index = begin, first = last < 0 ? 0 : at[last];; first = 0) {
    const std::int64_t count = std::min(beside - first, end - index);
    for (std::int64_t i = 0; i < count; ++i) {
      row(static_cast<const std::array<std::int64_t, N>&>(offsets));
      for (std::size_t k = 0; k < N; ++k) offsets[k] += steps[k];
    }
    if ((index += count) == end) return;
    for (std::size_t k = 0; k < N; ++k) offsets[k] -= beside * steps[k];
    for (int i = last - 1;; --i) {
      for (std::size_t k = 0; k < N; ++k) offsets[k] += strides_[k][i];
      if (++at[i] < outer_[i]) break;
      for (std::size_t k = 0; k < N; ++k) offsets[k] -= outer_[i] * strides_[k][i];
      at[i] = 0;
    }
  }
}

}  // namespace kiln::cpu

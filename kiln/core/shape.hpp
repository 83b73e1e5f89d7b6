// Shapes and other short lists of integers, stored inline: no heap, trivially copyable.
#pragma once
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include "kiln/core/error/error.hpp"

namespace kiln {

/// Kiln's tensors have at most this many dimensions.
inline constexpr int kMaxRank = 8;

/// A list of up to N values stored inline. The caller must not exceed N, see `push_back`.
template <class T, int N>
class InlineList {
 public:
  using value_type = T;
  static constexpr int kCapacity = N;

  constexpr InlineList() = default;
  constexpr InlineList(std::initializer_list<T> values) : InlineList(values.begin(), values.end()) {}
  template <class It>
  constexpr InlineList(It first, It last) {
    for (; first != last; ++first) push_back(static_cast<T>(*first));
  }
  /// `count` copies of `value`.
  static constexpr InlineList filled(int count, T value) {
    InlineList list;
    for (int i = 0; i < count; ++i) list.push_back(value);
    return list;
  }

  constexpr int size() const { return size_; }
  constexpr bool empty() const { return size_ == 0; }
  constexpr T* begin() { return values_.data(); }
  constexpr T* end() { return values_.data() + size_; }
  constexpr const T* begin() const { return values_.data(); }
  constexpr const T* end() const { return values_.data() + size_; }
  constexpr T& operator[](int i) { return values_[static_cast<std::size_t>(i)]; }
  constexpr const T& operator[](int i) const { return values_[static_cast<std::size_t>(i)]; }
  constexpr T& back() { return (*this)[size_ - 1]; }
  constexpr const T& back() const { return (*this)[size_ - 1]; }

  constexpr void push_back(T value) {
    if (size_ == N) [[unlikely]]
      fail<ShapeError>("more than ", N, N == kMaxRank ? " dimensions" : " entries");
    values_[static_cast<std::size_t>(size_++)] = value;
  }
  constexpr void pop_back() { --size_; }
  constexpr void insert(int at, T value) {
    push_back(value);
    for (int i = size_ - 1; i > at; --i) (*this)[i] = (*this)[i - 1];
    (*this)[at] = value;
  }
  constexpr void erase(int at) {
    for (int i = at; i + 1 < size_; ++i) (*this)[i] = (*this)[i + 1];
    --size_;
  }

  friend constexpr bool operator==(const InlineList& a, const InlineList& b) {
    if (a.size_ != b.size_) return false;
    for (int i = 0; i < a.size_; ++i)
      if (!(a[i] == b[i])) return false;
    return true;
  }

 private:
  std::array<T, N> values_{};
  int size_ = 0;
};

/// The sizes of a tensor's dimensions; also strides, permutations and other lists with one entry a dimension.
using Shape = InlineList<std::int64_t, kMaxRank>;
using Dims = Shape;

/// A dimension by its number: 0 is the first, -1 the last. Any integer converts to it; a bool does not, so that a flag
/// in the wrong position (`softmax(x, true)`) does not compile.
class Dim {
 public:
  template <std::integral I>
  requires(!std::same_as<I, bool>) constexpr Dim(I number)
      : number_(std::in_range<int>(number) ? static_cast<int>(number) : std::numeric_limits<int>::max()) {}
  constexpr operator int() const { return number_; }
  friend void append(std::string& text, Dim dim) { kiln::append(text, std::int64_t{dim}); }

 private:
  int number_;  // an integer that does not fit becomes the largest int, which names no dimension
};

/// One entry per spatial dimension of a convolution or a pool: 1, 2 or 3.
using Spatial = InlineList<std::int64_t, 3>;

/// The product of the sizes; 1 for rank 0. Throws ShapeError on a negative size or beyond 2^63 - 1 elements.
std::int64_t numel(const Shape& shape);

/// Row-major strides in elements.
Dims contiguous_strides(const Shape& shape);

/// Returns `dim`, counted from the end where negative. Throws IndexError:
/// "sum: dimension 3 is out of range for rank 2".
int wrap_dim(std::string_view op, std::int64_t dim, int rank);

/// Broadcasts two shapes as NumPy does. Throws ShapeError naming `op`, both shapes and the dimension.
Shape broadcast(std::string_view op, const Shape& a, const Shape& b);

/// A contiguous shape's text is "[2, 3]", that of rank 0 "[]".
template <class T, int N>
void append(std::string& out, const InlineList<T, N>& list) {
  out += '[';
  for (int i = 0; i < list.size(); ++i) {
    if (i) out += ", ";
    append(out, list[i]);
  }
  out += ']';
}

}  // namespace kiln

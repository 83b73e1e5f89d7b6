// Rows that threads hold in registers: read once, processed any number of times, written once.
#pragma once
#include <optional>

#include "kiln/backend/gpu/family/rows/folding.hpp"

namespace kiln::gpu::family {

struct RowShape {
  DType index;
  int lanes;    // threads per row: at most a warp, of a block of kThreads, or all of a block
  int vectors;  // per thread
  int width;    // elements per vector
  bool full;    // do the vectors fill the row exactly?

  static constexpr int kThreads = 128;
  int threads() const { return lanes > kLanes ? lanes : kThreads; }
  int teams() const { return threads() / lanes; }
  std::int64_t blocks(std::int64_t rows) const { return blocks_for(rows, teams()); }
  /// The shape for rows of `length` elements, all contiguous; none if they are too long. `held` such rows are in
  /// registers at a time. No vector crosses lines of `line` elements, into which a row may be divided.
  static std::optional<RowShape> of(const Gpu& gpu, std::int64_t rows, std::int64_t length,
                                    std::span<const Array> arrays, int held, std::int64_t line);
  static std::optional<RowShape> of(const Gpu& gpu, std::int64_t rows, std::int64_t length,
                                    std::span<const Array> arrays) {
    return of(gpu, rows, length, arrays, 1, length);
  }
  /// The shape for vectors of `width` elements, of which a thread can hold `most`.
  static std::optional<RowShape> of(const Gpu& gpu, std::int64_t rows, std::int64_t length, int width,
                                    std::int64_t most);
};

/// A thread's part of its row. A thread past the last row repeats the last row; places past a row's end repeat its last
/// elements. Neither is stored.
class Row {
 public:
  /// Adds two parameters to the kernel: the number of rows, and the length of each.
  Row(Builder& k, const RowShape& shape) : Row(k, shape, {k.number(shape.index), k.number(shape.index)}) {}
  /// Takes parameters that exist already, and a row other than the one that is this thread's turn.
  struct Sizes {
    Expr rows, length;
  };
  Row(Builder& k, const RowShape& shape, const Sizes& sizes) : Row(k, shape, sizes, turn(k, shape)) {}
  Row(Builder& k, const RowShape& shape, const Sizes& sizes, const Expr& row);
  static Expr turn(Builder& k, const RowShape& shape);
  static void append(std::vector<Argument>& arguments, std::int64_t rows, std::int64_t length) {
    arguments.insert(arguments.end(), {rows, length});
  }
  const Expr& number() const { return number_; }
  const Expr& length() const { return length_; }
  /// Does the row exist?
  const Expr& inside() const { return inside_; }
  /// Does this thread store the row's results?
  Expr tells() const { return inside_ & (lane_ == 0); }
  /// The place in the row where each vector begins.
  const Exprs& places() const { return places_; }
  /// This thread's elements of the row that begins at offset `base` of a buffer.
  Exprs load(const Buffer& from, const Expr& base) const;
  Exprs load(const Buffer& from) const { return load(from, number_ * length_); }
  void store(const Buffer& to, std::span<const Expr> elements) const;
  /// Applies f to each element, or to those of several lists.
  template <class F, class... Lists>
  static Exprs each(F f, const Exprs& first, const Lists&... others) {
    Exprs made;
    for (std::size_t i = 0; i < first.size(); ++i) made.push_back(f(first[i], others[i]...));
    return made;
  }
  /// Sums over the row, and the largest element, where a NaN may get lost.
  Exprs sums(std::span<const Exprs> lists) const;
  Expr sum(const Exprs& elements) const { return sums({&elements, 1})[0]; }
  Expr largest(const Exprs& elements) const;
  /// Reduces the row; each list is one component of its elements.
  Exprs fold(const Folding& folding, std::span<const Exprs> lists) const;
  /// How many of the row's elements a thread holds.
  std::size_t size() const { return places_.size() * static_cast<std::size_t>(shape_.width); }

 private:
  Builder& k_;
  const RowShape& shape_;
  Expr length_, lane_, number_, inside_;
  Exprs places_, holds_;
};

}  // namespace kiln::gpu::family

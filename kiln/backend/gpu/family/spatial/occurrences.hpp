// Finds where places occur in lines of indices: then sums into a place can be computed by place, in the order of the
// indices, so that they are the same bits every time.
#pragma once
#include "kiln/backend/gpu/gpu.hpp"

namespace kiln::gpu::family {

/// Lists of the indices that name each place of each line, linked through `next`.
struct Occurrences {
  Value heads, next;
};
inline constexpr std::int64_t kMostOccurrences = (std::int64_t{1} << 31) - 2;

/// The layout of indices: `count` lines, each of which names `places`; `beside` lines are interleaved element by
/// element, and so are the places that they name.
struct IndexLines {
  std::int64_t count, places, beside = 1;
};

/// Indexes indices [lines / beside, in a line, beside]; interleaved lines have at most kMostOccurrences indices.
/// Indices that name no place are left out; the first of them is reported in `cell` (checks.hpp), if given.
Occurrences find_occurrences(Gpu& gpu, const Array& indices, const IndexLines& lines, const Value& cell = {});

/// Reads the lists in kernels; all buffers count from 0.
class OccurrenceReader {
 public:
  OccurrenceReader(Builder& k, DType indices, DType index);
  static void append(std::vector<Argument>& arguments, const Occurrences& found, const Array& indices,
                     const IndexLines& lines);
  /// Calls f(i) for the places i in a line, ascending, at which an index names `place`; `line` is its number among the
  /// interleaved lines of `block`.
  void each(const Expr& block, const Expr& place, const Expr& line, FunctionRef<void(const Expr& i)> f) const;

 private:
  Builder& k_;
  DType index_;
  Buffer heads_, next_, indices_;
  Expr count_, places_, beside_;
};

}  // namespace kiln::gpu::family

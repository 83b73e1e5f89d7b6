// Where places are named in lines of indices: what adds up by place can then go by place, and in the order of the indices,
// so that sums are the same bits every time.
#pragma once
#include "kiln/backend/gpu/gpu.hpp"

namespace kiln::gpu::family {

/// Lists of the indices that name each place of each line, linked through `next`.
struct Occurrences {
  Value heads, next;
};
inline constexpr std::int64_t kMostOccurrences = (std::int64_t{1} << 31) - 2;

/// How indices lie: `count` lines, each of which names `places`; those of `beside` lines lie side by side, element by
/// element, and so do the places that they name.
struct IndexLines {
  std::int64_t count, places, beside = 1;
};

/// Of indices [lines / beside, in a line, beside], of which the lines that lie side by side have at most kMostOccurrences.
/// Those that name no place are left out; the first of them is noted in `cell` (checks.hpp) where there is one.
Occurrences find_occurrences(Gpu& gpu, const Array& indices, const IndexLines& lines, const Value& cell = {});

/// In kernels, where all buffers count from 0.
class OccurrenceReader {
 public:
  OccurrenceReader(Builder& k, DType indices, DType index);
  static void append(std::vector<Argument>& arguments, const Occurrences& found, const Array& indices,
                     const IndexLines& lines);
  /// Calls f(i) for the places i in a line, ascending, at which an index names `place`: of number `line` of those side by
  /// side in `block`.
  void each(const Expr& block, const Expr& place, const Expr& line, FunctionRef<void(const Expr& i)> f) const;

 private:
  Builder& k_;
  DType index_;
  Buffer heads_, next_, indices_;
  Expr count_, places_, beside_;
};

}  // namespace kiln::gpu::family

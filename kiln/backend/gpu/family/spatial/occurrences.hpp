// Where places are named in lines of indices: what adds up by place can then go by place, and in the order of the indices,
// so that sums are the same bits every time.
#pragma once
#include "kiln/backend/gpu/gpu.hpp"

namespace kiln::gpu::family {

/// Lists of the indices that name each place of each line, linked through `next`. A list that is too long to be put in
/// order has no beginning: who wants it looks through the line.
struct Occurrences {
  Value heads, next;
};
inline constexpr std::int64_t kMostOccurrences = (std::int64_t{1} << 31) - 2;

/// Of indices [lines..., count...] in row-major order, `lines` of them, each of at most kMostOccurrences. Those that name no
/// place are left out; the first of them is noted in `cell` (checks.hpp) where there is one.
Occurrences find_occurrences(Gpu& gpu, const Array& indices, std::int64_t lines, std::int64_t places,
                             const Value& cell = {});

/// In kernels, where all buffers count from 0.
class OccurrenceReader {
 public:
  OccurrenceReader(Builder& k, DType indices, DType index);
  static void append(std::vector<Argument>& arguments, const Occurrences& found, const Array& indices,
                     std::int64_t lines, std::int64_t places);
  /// Calls f(i) for the places i in the line, ascending, at which an index names `place`.
  void each(const Expr& line, const Expr& place, FunctionRef<void(const Expr& i)> f) const;

 private:
  Builder& k_;
  DType index_;
  Buffer heads_, next_, indices_;
  Expr count_, places_;
};

}  // namespace kiln::gpu::family

// How small a piece of work may be. Kernels say what is worth a thread's while; tests may say less, so that small
// operands are cut as large ones are.
#pragma once
#include "kiln/core/parallel.hpp"

namespace kiln {

/// A parallel_for whose body counts in pieces: they are of `grain` whatever tests say, who have limited_grain() for that.
void parallel_pieces(std::int64_t count, std::int64_t grain, PieceBody body);
/// `grain`, a multiple of `unit`; or the most units that tests allow.
std::int64_t limited_grain(std::int64_t grain, std::int64_t unit = 1);

/// For tests: makes no piece of a parallel_for larger than `most` from now on; 0: as large as its caller says, which is
/// how a program begins (KILN_GRAIN in the environment says otherwise). Not while work is under way.
void limit_grain(std::int64_t most);
/// For tests: how often a parallel_for of more than one piece began, however many threads took part.
std::int64_t cut_regions();

}  // namespace kiln

// Loops over several operands as axes: how far a step along an axis moves in each operand. Products, convolutions,
// their gradients and pools are lists of axes.
#pragma once
#include <optional>

#include "kiln/compile/lowering.hpp"

namespace kiln::compile {

/// A step along the axis moves `factor` steps along dimension `dim` of an operand, which the caller numbers.
struct Term {
  int operand, dim;
  std::int64_t factor = 1;
};
struct Axis {
  std::int64_t size;
  std::vector<Term> terms;
};
using Axes = std::vector<Axis>;

/// A view as an operand of the loops over `axes`; `begin` is where each of its dimensions begins, 0 if it is empty.
Expression placed(const View& view, int operand, const Axes& axes, const Dims& begin = {});
/// The places of a plain view.
Access places(const View& view, int operand, const Axes& axes, const Dims& begin = {});
/// What keeps the operand's places inside `shape`, for each dimension where they may leave it.
std::vector<Guard> guards(const Shape& shape, int operand, const Axes& axes, const Dims& begin);

Counts sizes_of(const Axes& axes);
/// The axes of each list, one list after the other.
Axes joined(const Axes& a, const Axes& b, const Axes& c = {});

/// A sum of products of operands 0 and 1 into operand 2. What stands outside and within are the axes of the result.
struct Contraction {
  View a, b, result;
  Axes outer, reduced, inner;
  Dims begin[3] = {};
  int guarded = -1;       // the operand whose places may lie outside, if any
  View start = {};        // what the sums begin with, of the result's shape; zeros if it is empty
  bool scatters = false;  // several places of `inner` and `outer` may be one element of the result
};
/// Returns whether the sums begin with `start`: otherwise the caller adds it.
bool contract(Lowering& to, Contraction contraction);

/// A convolution of float32 without guards: x is padded in memory, and where all strides are 1, the rows of a channel are
/// one, of which the ends between two rows mean nothing. `start` has the result's shape, or is empty. Returns nothing
/// where that would not gain.
std::optional<View> convolved_flat(Lowering& to, const op::Conv& conv, const View& x, const View& weight,
                                   const View& start, const Desc& desc);

}  // namespace kiln::compile

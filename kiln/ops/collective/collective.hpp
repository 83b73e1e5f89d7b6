// Functions that all ranks call together. A call runs what its operand waits for, and waits for the others; what is wrong,
// a rank that has left or that came with another shape, is an error of whoever reads the result.
#pragma once
#include "kiln/ops/collective/communicator.hpp"
#include "kiln/ops/index/index.hpp"

namespace kiln {

/// Element by element over all ranks, in the order of the ranks, so that all get the same bits, and each time. x of any
/// shape; Mean is of floats alone. Throws DTypeError for booleans, ArgumentError for Combine::Prod.
Value all_reduce(const Value& x, const Ranks& among, Combine how = Combine::Sum);
/// What rank `root` has; x has that shape and type everywhere. Throws ArgumentError where there is no such rank.
Value broadcast(const Value& x, const Ranks& among, int root = 0);
/// [n, ...] -> [ranks * n, ...]. Throws ShapeError for a tensor without dimensions.
Value all_gather(const Value& x, const Ranks& among);
/// [ranks * n, ...] -> [n, ...]: the part of all_reduce() that is this rank's. Throws ShapeError where the ranks do not
/// divide dimension 0.
Value reduce_scatter(const Value& x, const Ranks& among, Combine how = Combine::Sum);
/// Returns when all ranks have called it. Of a device that runs by itself everybody waits first, by sync(). Throws as
/// exchange().
void barrier(const Ranks& among);

}  // namespace kiln

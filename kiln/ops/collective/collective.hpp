// Functions that all ranks call together. A call runs the work that its operand waits for, and waits for the other
// ranks. An error, such as a rank that has left or that passed another shape, is thrown when the result is read.
#pragma once
#include "kiln/ops/collective/communicator.hpp"
#include "kiln/ops/index/index.hpp"

namespace kiln {

/// Combines the ranks' tensors element by element, in the order of the ranks, so that all ranks get the same bits every
/// time. x has any shape; Mean takes floats alone. Throws DTypeError for booleans, ArgumentError for Combine::Prod.
Value all_reduce(const Value& x, const Ranks& among, Combine how = Combine::Sum);
/// Returns the tensor of rank `root`; x has the same shape and type on all ranks. Throws ArgumentError where there is
/// no such rank.
Value broadcast(const Value& x, const Ranks& among, int root = 0);
/// [n, ...] -> [ranks * n, ...]. Throws ShapeError for a tensor without dimensions.
Value all_gather(const Value& x, const Ranks& among);
/// [ranks * n, ...] -> [n, ...]: this rank's part of the result of all_reduce(). Throws ShapeError where the number of
/// ranks does not divide dimension 0.
Value reduce_scatter(const Value& x, const Ranks& among, Combine how = Combine::Sum);
/// Returns when all ranks have called it. On an asynchronous device, call sync() first if its work must be done. Throws
/// as exchange() does.
void barrier(const Ranks& among);

}  // namespace kiln

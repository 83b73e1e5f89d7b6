// What reductions and scans do with two values, as data: any order of pairs gives the result, so that a device may fold
// in a tree of threads.
#pragma once
#include "kiln/ops/expression/tree.hpp"
#include "kiln/ops/reduce/reduce_ops.hpp"
#include "kiln/ops/reduce/scan_ops.hpp"

namespace kiln::expr {

/// A fold of numbers of the accumulator's type.
struct Combiner {
  Tree identity;  // of nothing
  Tree combine;   // of x and y, which comes later
  Tree finish;    // of x, what all elements make, and n, how many there are
};
const Combiner& combiner(op::ReduceFn fn);
const Combiner& combiner(op::ScanFn fn);

/// What elements of `dtype` are accumulated in by a device without a wider type to spare: floats in float32 or float64,
/// sums and products of integers in int64, what is compared in its own type.
DType accumulator(op::ReduceFn fn, DType dtype);
DType accumulator(op::ScanFn fn, DType dtype);

/// Where the extreme is: a truth over x, i (a word: the place of x), y and j. Does y at j take the place of x at i? The
/// first of equal ones stays, NaN beats everything but an earlier NaN; so pairs may come in any order.
const Tree& replaces(op::ArgFn fn);
/// The same for the indices of a scan, which knows Max and Min.
const Tree& replaces(op::ScanFn fn);

/// y = a y + b, then y = c y + d, is y = slope y + offset: the recurrence as a fold of pairs.
struct RecurrenceStep {
  Tree slope, offset;  // of a, b, c and d
};
const RecurrenceStep& recurrence();

}  // namespace kiln::expr

// The combining functions of reductions and scans, as data: pairs may be combined in any order, so that a device may
// reduce in a tree of threads.
#pragma once
#include "kiln/ops/expression/tree.hpp"
#include "kiln/ops/reduce/reduce_ops.hpp"
#include "kiln/ops/reduce/scan_ops.hpp"

namespace kiln::expr {

/// A reduction of numbers of the accumulator's type.
struct Combiner {
  Tree identity;  // for no elements
  Tree combine;   // combines x and y, where y comes later
  Tree finish;    // finishes x, the combination of all elements; n is their number
};
const Combiner& combiner(op::ReduceFn fn);
const Combiner& combiner(op::ScanFn fn);

/// The type in which a device without a wider type accumulates elements of `dtype`: floats in float32 or float64, sums
/// and products of integers in int64, comparisons in the element type itself.
DType accumulator(op::ReduceFn fn, DType dtype);
DType accumulator(op::ScanFn fn, DType dtype);

/// Decides the position of an extreme: a truth value over x, i (a word: the index of x), y and j. Does y at j replace x
/// at i? The first of equal values stays, and NaN beats everything but an earlier NaN; so pairs may come in any order.
const Tree& replaces(op::ArgFn fn);
/// Decides the indices of a scan, for Max and Min.
const Tree& replaces(op::ScanFn fn);

/// y = a y + b followed by y = c y + d is y = slope y + offset: the recurrence as a combination of pairs.
struct RecurrenceStep {
  Tree slope, offset;  // of a, b, c and d
};
const RecurrenceStep& recurrence();

}  // namespace kiln::expr

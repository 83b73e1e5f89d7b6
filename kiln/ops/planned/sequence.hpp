// The operations that planned ops of several steps run.
#pragma once
#include "kiln/ops/op.hpp"

namespace kiln::op {

/// Input i of the call, which may be a number or nothing; or result i, counted through the results of all steps.
struct SequenceOperand {
  enum From : std::uint8_t { Input, Result };
  From from = Input;
  std::uint16_t index = 0;
};
struct SequenceStep {
  Op op;
  std::vector<SequenceOperand> in;
  std::uint16_t results;
};

/// Operations in order, each on operands of the call or on earlier results. op::RowFused runs one.
struct Sequence {
  std::vector<SequenceStep> steps;
  std::vector<Desc> results;           // the results of all steps
  std::vector<std::uint16_t> outputs;  // the results that are results of the call, in order

  Values expand(Inputs in) const;

  /// Returns a T that kernels derive from the sequence. make() runs once for each backend, identified by its id().
  template <class T, class Make>
  const T& cached(std::uint64_t backend, Make&& make) const {
    return memo_.get<T>(backend, make);
  }

 private:
  Memo memo_;
};

/// What op::RowBlocked runs. Each operation computes a row of its results from the same row of its operands, or from
/// operands that broadcast along the rows. A row is an index of dimension `axis` of the results; the dimensions before
/// it have size 1.
struct RowBlocks {
  /// A step of the sequence for the rows of a block, and for the rows that remain after the last full block.
  struct BlockStep {
    Op block, rest;
  };

  Sequence sequence;  // for all rows
  int axis = 0;
  std::int64_t rows = 0, block = 0;  // the number of all rows, and of those in a block
  std::vector<BlockStep> steps;

  /// Fills `steps` from the steps of `sequence`.
  void derive_steps();
};

/// Independent operations, with the operands and results of the call that belong to each. op::Batched runs them.
struct BatchedOp {
  struct Span {
    std::uint32_t first, count;
  };
  Op op;
  Span operands, results;
};
struct BatchedOps {
  std::vector<BatchedOp> all;
};

/// Returns the sequence that an op of several steps runs; null for other ops.
const Sequence* sequence_of(const Op& op);

}  // namespace kiln::op

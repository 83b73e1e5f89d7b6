// What planned ops of several operations run.
#pragma once
#include "kiln/ops/op.hpp"

namespace kiln::op {

/// Operations in order, each on operands of the call or on results of earlier ones: of op::RowFused and op::ConvChain.
struct Sequence {
  /// Input i of the call; or result i, counted through the results of all steps; or a number or nothing.
  struct Operand {
    enum From : std::uint8_t { Input, Result };
    From from = Input;
    std::uint16_t index = 0;
  };
  struct Step {
    Op op;
    std::vector<Operand> in;
    std::uint16_t results;
  };

  std::vector<Step> steps;
  std::vector<Desc> results;           // of all steps
  std::vector<std::uint16_t> outputs;  // those that are results of the call, in order

  Values expand(Inputs in) const;

  /// What the kernels of a backend, which is known by its id(), make of it, once.
  template <class T, class Make>
  const T& made(std::uint64_t backend, Make&& make) const {
    return memo_.get<T>(backend, make);
  }

 private:
  Memo memo_;
};

/// What op::RowBlocked runs: each operation makes a row of its results from the same row of its operands, or from operands
/// that broadcast along the rows. A row is an index of dimension `axis` of the results, and those before it have size 1.
struct RowBlocks {
  /// A step of the sequence on the rows of a block, and on those that are left over.
  struct Step {
    Op block, rest;
  };

  Sequence sequence;  // on all rows
  int axis = 0;
  std::int64_t rows = 0, block = 0;  // in all, and in a block
  std::vector<Step> steps;

  /// Makes `steps` of the sequence's.
  void cut();
};

/// Operations that know nothing of each other, and which of a call's operands and results are whose: of op::Horizontal.
struct Parts {
  struct Span {
    std::uint32_t first, count;
  };
  struct Part {
    Op op;
    Span operands, results;
  };
  std::vector<Part> all;
};

/// What an op of several steps runs; null for others.
const Sequence* sequence_of(const Op& op);

}  // namespace kiln::op

// The operations that op::Blocked and op::Horizontal run.
#pragma once
#include "kiln/ops/op.hpp"

namespace kiln::op {

/// Operations that each compute a row of their results from the same row of their operands, or from operands that
/// broadcast along the rows. A row is an index of dimension `axis` of the results, and the dimensions before it have
/// size 1.
struct Sequence {
  /// Input i of the call; or result i, counted through the results of all steps; or a number or nothing.
  struct Operand {
    enum From : std::uint8_t { Input, Result };
    From from = Input;
    std::uint16_t index = 0;
  };
  struct Step {
    Op whole, block, rest;  // the same operation on all rows, on a block of them, and on the remaining rows
    std::vector<Operand> in;
    std::uint16_t results;
  };

  int axis = 0;
  // The number of rows in all, and in a block. Block 0: a row consists of the dimensions after those that count rows,
  // which may be different ones in each result, and a device may process rows as often as it needs to.
  std::int64_t rows = 0, block = 0;
  std::vector<Step> steps;
  std::vector<Desc> results;           // of all steps, with all rows
  std::vector<std::uint16_t> outputs;  // those that are results of the call, in order

  /// The data that kernels of a backend, identified by its id(), derive from the sequence, computed once and cached.
  template <class T, class Make>
  const T& made(std::uint64_t backend, Make&& make) const {
    return memo_.get<T>(backend, make);
  }

 private:
  Memo memo_;
};

/// Returns a step for results whose dimension `axis` has another size: `block` and `rest` are derived from `whole` in
/// this way.
Op resized(const Op& op, int axis, std::int64_t size);

/// Independent operations, and the ranges of a call's operands and results that belong to each.
struct Parts {
  struct Share {
    std::uint32_t first, count;
  };
  struct Part {
    Op op;
    Share operands, results;
  };
  std::vector<Part> all;
};

}  // namespace kiln::op

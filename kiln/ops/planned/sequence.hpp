// What op::Blocked and op::Horizontal run.
#pragma once
#include "kiln/ops/op.hpp"

namespace kiln::op {

/// Operations each of which makes a row of its results from the same row of its operands, or from operands that
/// broadcast along the rows. A row is an index of dimension `axis` of the results, and those before it have size 1.
struct Sequence {
  /// Input i of the call, or result i of all that the steps make, counted through; or a number or nothing.
  struct Operand {
    enum From : std::uint8_t { Input, Result };
    From from = Input;
    std::uint16_t index = 0;
  };
  struct Step {
    Op whole, block, rest;  // the same operation on all rows, on a block of them, and on those that are left over
    std::vector<Operand> in;
    std::uint16_t results;
  };

  int axis = 0;
  // In all, and in a block. No block: a row is what lies behind the dimensions that count them, whichever these are in
  // each result, and a device goes through it as often as it wants to.
  std::int64_t rows = 0, block = 0;
  std::vector<Step> steps;
  std::vector<Desc> results;           // of all steps, with all rows
  std::vector<std::uint16_t> outputs;  // those that are results of the call, in order

  /// What the kernels of a backend, which is known by its id(), make of it, once.
  template <class T, class Make>
  const T& made(std::uint64_t backend, Make&& make) const {
    return memo_.get<T>(backend, make);
  }

 private:
  Memo memo_;
};

/// A step on results whose dimension `axis` has another size: how `block` and `rest` come from `whole`.
Op resized(const Op& op, int axis, std::int64_t size);

/// Operations that know nothing of each other, and which of a call's operands and results are whose.
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

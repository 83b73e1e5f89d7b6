// What a device says of itself to whoever plans for it: how much to gather before it runs, and what to make of it. A plan is
// made for the device that runs it; the planner has no constants of its own.
#pragma once
#include <optional>
#include <vector>

#include "kiln/core/dtype.hpp"
#include "kiln/ops/reduce/reduce_ops.hpp"

namespace kiln {

namespace op {
struct Epilogue;
struct Op;
}  // namespace op

/// What is absent is not made: by default nothing is gathered, and each call reaches the device as it comes.
struct FusionTraits {
  /// Calls that nobody reads from yet are run once there are so many, or once the tensors that they keep alive are so
  /// large (bytes).
  std::size_t most_ops = 1;
  std::int64_t most_bytes = 0;
  /// A device that runs by itself, while the program goes on, is to have work early: after a read it is started with so
  /// many calls, and then with twice as many each time, up to most_ops. 0: it waits for most_ops.
  std::size_t first_ops = 0;

  /// Elementwise ops become one op::Fused.
  struct Groups {
    std::size_t most_inputs = 0;  // tensors that one kernel reads
    std::size_t most_steps = 0;
    /// Reductions over the last dimensions of what a group makes may stand at its end: by these functions, of these
    /// element types, of so many elements or more into one.
    std::vector<op::ReduceFn> reductions{};
    std::vector<DType> reduced_types{};
    std::int64_t least_reduced = 1;
    /// And one by itself, over any dimensions, of what nobody else reads and has one of these types.
    std::vector<DType> reduced_alone{};
    /// Inside a group a product and the sum that takes it may be rounded once (FMA), so that it has other bits than its
    /// operations have one at a time.
    bool contracts = false;
  };
  std::optional<Groups> groups{};

  /// Where a plan leaves more than so many bytes to who comes later, the elementwise steps that make them are told that
  /// no cache will hold them (op::Fused::streams).
  std::optional<std::int64_t> most_cached{};

  /// Does the device's kernel take this operand, of float32, as halves as well, in the same row-major order under any
  /// shape? Then it is not widened before. Null: none does.
  bool (*widens)(const op::Op& op, std::size_t operand) = nullptr;

  /// A product or convolution, or a layer norm where there are `norms`, and the elementwise step that alone reads it become
  /// one op::Epilogue, from so many elements on.
  struct Epilogues {
    std::int64_t least_product = 0, least_conv = 0;
    bool norms = false;
    std::vector<DType> types{};                      // of the product
    bool (*accepts)(const op::Epilogue&) = nullptr;  // those that the device has a kernel for; null: all
  };
  std::optional<Epilogues> epilogues{};

  /// A pointwise convolution and the depthwise one that alone reads what it makes, so many elements or more, become one
  /// op::Blocked without blocks.
  std::optional<std::int64_t> least_between_convs{};

  /// Steps that go through the same large tensors row by row become one op::Blocked. In elements: from what size on a
  /// tensor is large, how many a block of rows has, and in how long a row blocks are worth nothing.
  struct Blocks {
    std::int64_t least = 0, block = 0, longest_row = 0;
  };
  std::optional<Blocks> blocks{};

  /// Steps that fold the same rows, the last dimensions of tensors, and those that go through these before, between and
  /// after, become one op::Blocked without blocks: of rows of so many elements at most, of which so many are held at a time.
  struct Rows {
    std::vector<op::ReduceFn> reductions{};
    std::int64_t longest = 0, most_held = 0;
    std::size_t most_steps = 0;
  };
  std::optional<Rows> rows{};

  /// Small elementwise steps that need nothing of each other become one op::Horizontal: of at most so many elements
  /// each, and in all; any, or those alone that do the same to different tensors.
  struct Horizontal {
    std::int64_t most_each = 0, most_in_all = 0;
    bool alike = false;
  };
  std::optional<Horizontal> horizontal{};
};

}  // namespace kiln

// Properties of a device for the planner: how many calls to collect before they run, and what to build of them. A plan
// is made for the device that runs it; the planner has no constants of its own.
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

/// A missing member means that nothing of the kind is built: by default no call is collected, and each reaches the
/// device at once.
struct FusionTraits {
  /// Calls whose results are not read yet run once there are this many, or once the tensors that they keep alive have
  /// this many bytes.
  std::size_t most_ops = 1;
  std::int64_t most_bytes = 0;
  /// An asynchronous device should have work early: after a read it is started with this many calls, and then with
  /// twice as many each time, up to most_ops. 0: it waits for most_ops.
  std::size_t first_ops = 0;

  /// Elementwise ops become one op::Fused.
  struct Groups {
    std::size_t most_inputs = 0;  // tensors that one kernel reads
    std::size_t most_steps = 0;
    /// Reductions over the last dimensions of a group's results may end the group: with these functions and element
    /// types, and at least this many elements reduced into one.
    std::vector<op::ReduceFn> reductions{};
    std::vector<DType> reduced_types{};
    std::int64_t least_reduced = 1;
    /// The types in which a reduction over any dimensions may end a group as its only one, where nothing else reads its
    /// operand.
    std::vector<DType> reduced_alone{};
    /// Inside a group a product and the sum that reads it may be rounded once (FMA), which changes bits compared with
    /// single operations.
    bool contracts = false;
  };
  std::optional<Groups> groups{};

  /// Where a plan leaves more bytes than this for later readers, the elementwise steps that write them are told that no
  /// cache will hold them (op::Fused::streams).
  std::optional<std::int64_t> most_cached{};

  /// Whether the device's kernel takes this float32 operand as halves as well, in the same row-major order under any
  /// shape; it is then not widened before. Null: no kernel does.
  bool (*widens)(const op::Op& op, std::size_t operand) = nullptr;

  /// A product or convolution, or a layer norm where `norms` is set, of at least this many elements, and the
  /// elementwise step that alone reads it become one op::Epilogue.
  struct Epilogues {
    std::int64_t least_product = 0, least_conv = 0;
    bool norms = false;
    std::vector<DType> types{};                      // the types of the product
    bool (*accepts)(const op::Epilogue&) = nullptr;  // whether the device has a kernel for it; null: for all
  };
  std::optional<Epilogues> epilogues{};

  /// A pointwise convolution and the depthwise one that alone reads its result, of at least this many elements, become
  /// one op::Blocked without blocks.
  std::optional<std::int64_t> least_between_convs{};

  /// Steps that process the same large tensors row by row become one op::Blocked. In elements: the least size of a
  /// large tensor, the size of a block of rows, and the longest row for which blocks pay off.
  struct Blocks {
    std::int64_t least = 0, block = 0, longest_row = 0;
  };
  std::optional<Blocks> blocks{};

  /// Steps that reduce the same rows, the last dimensions of tensors, and elementwise steps before, between and after
  /// them become one op::Blocked without blocks: for rows of at most `longest` elements, of which at most `most_held`
  /// are kept at a time.
  struct Rows {
    std::vector<op::ReduceFn> reductions{};
    std::int64_t longest = 0, most_held = 0;
    std::size_t most_steps = 0;
  };
  std::optional<Rows> rows{};

  /// Independent small elementwise steps become one op::Horizontal: with at most this many elements each, and in all;
  /// any steps, or only equal ones on different tensors (`alike`).
  struct Horizontal {
    std::int64_t most_each = 0, most_in_all = 0;
    bool alike = false;
  };
  std::optional<Horizontal> horizontal{};
};

}  // namespace kiln

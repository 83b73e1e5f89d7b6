// What a device tells the planner: how many operations to collect before they run, and which planned ops to create. A
// plan is made for the device that runs it; the planner has no constants of its own.
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
  std::size_t max_ops = 1;
  std::int64_t max_bytes = 0;
  /// An asynchronous device should have work early: after a read it is started with this many calls, and then with
  /// twice as many each time, up to max_ops. 0: it waits for max_ops.
  std::size_t first_ops = 0;

  /// An operation that repeats one on the same operands is not run, where the first result is still in use or was last
  /// used at most this many operations before. Later it runs again: otherwise the first result would have to be kept,
  /// and results that checkpoints compute again would not be freed in between.
  std::size_t repeats_within = 0;

  /// Elementwise ops become one op::Fused.
  struct Groups {
    std::size_t max_inputs = 0;  // tensors that one kernel reads
    std::size_t max_steps = 0;
    /// Reductions over the last dimensions of a group's results may end the group: with these functions and element
    /// types, and at least this many elements reduced into one.
    std::vector<op::ReduceFn> reductions{};
    std::vector<DType> reduced_types{};
    std::int64_t min_reduced = 1;
    /// The types in which a reduction over any dimensions may end a group as its only one, where nothing else reads its
    /// operand.
    std::vector<DType> reduced_single{};
    /// Inside a group a product and the sum that reads it may be rounded once (FMA), which changes bits compared with
    /// single operations.
    bool contracts = false;
  };
  std::optional<Groups> groups{};

  /// Elementwise steps whose results no step of the plan reads write past the caches (op::Fused::streams), where these
  /// results have more bytes than a cache holds.
  struct Streaming {
    std::int64_t max_cached = 0;  // bytes
  };
  std::optional<Streaming> streaming{};

  /// Whether the device's kernel takes this float32 operand as halves as well, in the same row-major order under any
  /// shape; then the operand is not widened first. Null: no kernel does.
  bool (*accepts_halves)(const op::Op& op, std::size_t operand) = nullptr;

  /// A product or convolution, or a layer norm where `norms` is set, of at least this many elements, and the
  /// elementwise step that alone reads it become one op::Epilogue.
  struct Epilogues {
    std::int64_t min_product = 0, min_conv = 0;
    bool norms = false;
    std::vector<DType> types{};                      // the types of the product
    bool (*accepts)(const op::Epilogue&) = nullptr;  // whether the device has a kernel for it; null: for all
  };
  std::optional<Epilogues> epilogues{};

  /// Steps that process the same large tensors row by row become one op::RowBlocked.
  struct Blocks {
    std::int64_t min_elements = 0;  // elements from which on a tensor is large
    std::int64_t block = 0;         // elements of a block of rows
    std::int64_t max_row = 0;       // elements; blocks of longer rows are worth nothing
    std::int64_t min_blocks = 0;
  };
  std::optional<Blocks> blocks{};

  /// Steps that fold the same rows, the last dimensions of tensors, and those that process these rows before, between
  /// and after them, become one op::RowFused.
  struct Rows {
    std::vector<op::ReduceFn> reductions{};
    std::int64_t max_row = 0;          // elements of a row
    std::int64_t max_dropout_row = 0;  // the limit if no step folds rows, so that any last dimensions may be a row
    std::int64_t max_live_rows = 0;    // elements of all rows that a thread block keeps between two steps
    std::size_t max_steps = 0;
    std::size_t max_distance = 0;  // the largest distance in steps from one joined step to the next
  };
  std::optional<Rows> rows{};

  /// Small elementwise steps that are independent of each other become one op::Batched.
  struct Batching {
    std::int64_t max_each = 0, max_total = 0;  // elements of a step, and of all that are joined
    std::size_t max_distance = 0;              // the most steps from the first joined step to the last
    bool same_function_only = false;           // join only steps that compute the same function of different tensors
  };
  std::optional<Batching> batching{};
};

}  // namespace kiln

// Record: an entry of the tape. A tracked Value refers to the Record that made it; a Record keeps what its gradient
// will need and the Records of its operands. So a graph lives as long as a gradient can still be asked for.
#pragma once
#include <atomic>
#include <optional>
#include <vector>

#include "kiln/ops/op.hpp"
#include "kiln/ops/scope/scope.hpp"

namespace kiln {

/// Under Checkpointing::Balanced: whether the results may be dropped and recomputed from the operands.
struct Rematerialisation {
  bool possible = false;
  int depth = 0;              // of the chain of records that have to be recomputed
  std::int64_t held = 0;      // bytes that are kept only for the recomputation
  std::uint32_t missing = 0;  // operands that the gradient reads and that have to be recomputed first
  bool missing_out = false;   // whether the results have to be recomputed first
};

/// Recomputes results that were computed without a tape, this time with one.
struct Recompute : RefCounted {
  virtual Values run() const = 0;
};

struct Record final : RefCounted {
  static void* operator new(std::size_t size) { return cached_allocate(size); }
  static void operator delete(void* memory, std::size_t size) { cached_free(memory, size); }

  std::optional<op::Op> op;  // none: a leaf, or a record that `recompute` recomputes
  Ref<Recompute> recompute;
  /// The operands: with data only where the op saves it, with their position on the tape if tracked. An operand that is
  /// neither saved nor tracked is kept as a tensor without contents, for its description.
  SpareValues in;
  SpareVector<Desc> results;
  Values out;  // untracked handles to the results, where the op saves them
  Device device;
  Float32Precision::Level precision = Float32Precision::OfDevice;  // of the thread's scope
  std::uint64_t order = 0;  // grows with creation: an operand's is smaller than its consumer's
  Rematerialisation rematerialisation;
  /// Whether a gradient was computed in several parts that are right only when added together.
  std::atomic<bool> partial{false};

  bool is_leaf() const { return !op && !recompute; }
  const Desc& in_desc(std::size_t i) const;
};

/// Creates a record for results that `recompute` can recompute.
Ref<Record> make_record(Ref<Recompute> recompute, const Descs& results, const Device& device);
/// Creates a new leaf for a tensor of that description.
Ref<Record> make_leaf(const Desc& desc, const Device& device);
/// Records that `op` made `results` from `in`. Call it only where grad_enabled() and an operand is tracked.
Ref<Record> make_record(const op::Op& op, Inputs in, const Descs& results, Inputs out, const Device& device);

}  // namespace kiln

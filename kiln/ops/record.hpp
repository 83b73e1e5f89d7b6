// Record: one line of the tape. A tracked Value names the Record that made it; a Record keeps what its gradient will
// need and the Records behind its operands. So a graph lives as long as someone can still ask for a gradient.
#pragma once
#include <atomic>
#include <optional>
#include <vector>

#include "kiln/ops/op.hpp"
#include "kiln/ops/scope/scope.hpp"

namespace kiln {

/// Under Checkpointing::Balanced: may the results be dropped, to be made again from the operands?
struct Rematerialisation {
  bool possible = false;
  int depth = 0;              // of the chain of records that have to run again
  std::int64_t held = 0;      // bytes that are kept for nothing else
  std::uint32_t missing = 0;  // operands that the gradient reads, and that have to be made again first
  bool missing_out = false;   // likewise the results
};

/// Makes results again that were made without a tape, this time with one.
struct Again : RefCounted {
  virtual Values run() const = 0;
};

struct Record final : RefCounted {
  static void* operator new(std::size_t size) { return take_spare(size); }
  static void operator delete(void* memory, std::size_t size) { give_spare(memory, size); }

  std::optional<op::Op> op;  // none: a leaf, or what `again` makes
  Ref<Again> again;
  /// The operands: their data only where the op saves it, their place on the tape if tracked. One that is neither is a
  /// tensor without contents, which knows its description.
  SpareValues in;
  SpareVector<Desc> results;
  Values out;  // untracked handles to the results, where the op saves them
  Device device;
  std::uint64_t order = 0;  // grows with creation: an operand's is smaller than its consumer's
  Rematerialisation rematerialisation;
  /// Has a gradient been made that flows back into the results in a way that only all of its parts together explain?
  std::atomic<bool> in_parts{false};

  bool is_leaf() const { return !op && !again; }
  const Desc& in_desc(std::size_t i) const;
};

/// For results that `again` can make.
Ref<Record> make_record(Ref<Again> again, const Descs& results, const Device& device);
/// A fresh leaf for a tensor of that description.
Ref<Record> make_leaf(const Desc& desc, const Device& device);
/// Notes that `op` made `results` from `in`. Call only where grad_enabled() and an operand is tracked.
Ref<Record> make_record(const op::Op& op, Inputs in, const Descs& results, Inputs out, const Device& device);

}  // namespace kiln

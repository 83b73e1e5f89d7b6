// Which values are the same for all threads of a block, so that all or none take a way that depends on them.
#pragma once
#include "kiln/backend/gpu/kernel/kernel.hpp"

namespace kiln::gpu::lower {

class Flow {
 public:
  /// Tells by whom it is known: by us, who know that barriers stand between a store and its loads; or by a compiler, for
  /// which everything in memory that is written may differ, and so may floats, whose infinities come from such memory.
  /// Conditions around barriers that such a compiler does not see through are passed over if they `will_be_same`.
  enum class By : std::uint8_t { Us, Compiler };
  explicit Flow(const Kernel& kernel, By by = By::Us, bool will_be_same = false);
  /// Is it the same wherever the value is known?
  bool is_same(Id id) const { return same_[id]; }
  bool are_same(const std::vector<Id>& ids) const;

 private:
  bool is_same(const Instruction& in) const;
  bool is_same_in_memory(const Instruction& in) const;
  /// Do all threads take the way that depends on a statement's operands?
  bool is_common(const Statement& statement) const;
  void walk(const Statements& list, bool together);
  void differ(Id id);

  const Kernel& kernel_;
  const By by_;
  const bool will_be_same_;
  std::vector<bool> same_;    // by Id
  std::vector<bool> locals_;  // do all threads hold the same in it?
  bool changed_ = false;
};

/// Is there a barrier in it, or what has one?
bool holds_barrier(const Statement& statement);

}  // namespace kiln::gpu::lower

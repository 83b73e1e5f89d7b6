// Which values are the same for all threads of a block, so that all or none take a way that depends on them.
#pragma once
#include "kiln/backend/gpu/kernel/kernel.hpp"

namespace kiln::gpu::lower {

class Flow {
 public:
  explicit Flow(const Kernel& kernel);
  /// The same wherever the value is known?
  bool is_same(Id id) const { return same_[id]; }
  bool are_same(const std::vector<Id>& ids) const;

 private:
  bool is_same(const Instruction& in) const;
  void walk(const Statements& list, bool together);
  void differ(Id id);

  const Kernel& kernel_;
  std::vector<bool> same_;    // by Id
  std::vector<bool> locals_;  // do all threads hold the same in it?
  bool changed_ = false;
};

}  // namespace kiln::gpu::lower

// Record: one line of the tape. A tracked Value names the Record that made it; a Record keeps what its gradient will
// need and the Records behind its operands. So a graph lives as long as someone can still ask for a gradient.
#pragma once
#include <optional>
#include <vector>

#include "kiln/ops/no_grad.hpp"
#include "kiln/ops/op.hpp"

namespace kiln {

struct Record : RefCounted {
  /// An operand: its description always, its data only where the op saves it, its place on the tape if tracked.
  struct Operand {
    Desc desc;
    Value value;
  };

  std::optional<op::Op> op;  // none: a leaf
  std::vector<Operand> in;
  Descs results;
  Values out;  // untracked handles to the results, where the op saves them
  Device device;
  std::uint64_t order = 0;  // grows with creation: an operand's is smaller than its consumer's
};

/// A fresh leaf for a tensor of that description.
Ref<Record> make_leaf(const Desc& desc, const Device& device);
/// Notes that `op` made `results` from `in`. Call only where grad_enabled() and an operand is tracked.
Ref<Record> make_record(op::Op op, Inputs in, const Descs& results, Inputs out, const Device& device);

}  // namespace kiln

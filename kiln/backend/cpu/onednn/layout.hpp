// Operands of convolutions as oneDNN describes them.
#pragma once
#include <utility>
#include <vector>

#include "kiln/backend/cpu/conv/operand.hpp"
#include "kiln/backend/cpu/onednn/primitive.hpp"

namespace kiln::cpu::onednn {

using conv::ConvOperand;

/// Reorders a weight on the calling thread.
void reorder_weight(const MemoryDesc& order, const std::byte* from, const MemoryDesc& wanted, std::byte* to);

/// Describes [batch, channels, sizes...] in channels-last order.
MemoryDesc channels_last(DType dtype, std::int64_t batch, std::int64_t channels, const Spatial& sizes);

/// Describes a weight [out, in / groups, kernel...] in its current layout, with the shape that oneDNN expects.
MemoryDesc plain_weight(const Array& weight, std::int64_t groups);

dnnl::memory::data_type type_of(DType dtype);

/// A weight [out, in / groups, kernel...] during a call, in the orders that the primitives of its pieces need.
class PackedWeight {
 public:
  PackedWeight(ConvOperand weight, std::int64_t groups);
  /// Packs it in that order, with all threads. Must not be called from pieces.
  void pack(const MemoryDesc& order);
  /// Returns it in an order in which it has been packed. Any thread may call it.
  const std::byte* in(const MemoryDesc& order) const;

 private:
  const std::byte* find(const MemoryDesc& order) const;

  ConvOperand weight_;
  bool by_groups_;
  MemoryDesc plain_;
  std::vector<std::pair<MemoryDesc, Ref<Memory>>> forms_;
};

}  // namespace kiln::cpu::onednn

// Operands of convolutions as oneDNN describes them.
#pragma once
#include <utility>
#include <vector>

#include "kiln/backend/cpu/conv/operand.hpp"
#include "kiln/backend/cpu/onednn/primitive.hpp"

namespace kiln::cpu::onednn {

using conv::Operand;

/// A weight from one order into another, by the calling thread.
void reorder_weight(const MemoryDesc& order, const std::byte* from, const MemoryDesc& wanted, std::byte* to);

/// [batch, channels, sizes...] in channels-last order.
MemoryDesc channels_last(DType dtype, std::int64_t batch, std::int64_t channels, const Spatial& sizes);

/// Weight [out, in / groups, kernel...] as it lies, under the shape that oneDNN has for it.
MemoryDesc plain_weight(const Array& weight, std::int64_t groups);

dnnl::memory::data_type type_of(DType dtype);

/// A weight [out, in / groups, kernel...] during a call, in the orders that the primitives of its pieces want.
class PackedWeight {
 public:
  PackedWeight(Operand weight, std::int64_t groups);
  /// Packs it in that order, by all threads. Not from pieces.
  void pack(const MemoryDesc& order);
  /// In an order that it was packed in. From any thread.
  const std::byte* in(const MemoryDesc& order) const;

 private:
  const std::byte* find(const MemoryDesc& order) const;

  Operand weight_;
  bool by_groups_;
  MemoryDesc plain_;
  std::vector<std::pair<MemoryDesc, Ref<Memory>>> forms_;
};

}  // namespace kiln::cpu::onednn

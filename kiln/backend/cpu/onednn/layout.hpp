// Channels-last: [batch, channels, sizes...] with the channels of one pixel side by side. oneDNN's convolutions are
// fastest on it, and elementwise ops keep it, so a network reorders its input once and nothing in between.
#pragma once
#include <mutex>
#include <utility>
#include <vector>

#include "kiln/backend/cpu/channels_last.hpp"
#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/backend/cpu/onednn/primitive.hpp"

namespace kiln::cpu::onednn {

/// An operand in channels-last order: in place if it is, otherwise copied (into `held`, which keeps the copy alive).
Array read_channels_last(const Value& value, Value& held);

/// A convolution's operand with the copy of it, if there had to be one.
struct Operand {
  Value value;
  Array array;

  static Operand channels_last(const Value& value);
  static Operand contiguous(const Value& value);
};

/// [batch, channels, sizes...] in channels-last order.
MemoryDesc channels_last(DType dtype, std::int64_t batch, std::int64_t channels, const Spatial& sizes);

/// Weight [out, in / groups, kernel...] as it lies, under the shape that oneDNN has for it.
MemoryDesc plain_weight(const Array& weight, std::int64_t groups);

dnnl::memory::data_type type_of(DType dtype);

/// A weight [out, in / groups, kernel...] during a call, in whatever orders the primitives of its pieces want.
class PackedWeight {
 public:
  PackedWeight(Operand weight, std::int64_t groups) : weight_(std::move(weight)), groups_(groups) {}
  /// Packed when the first piece asks. From any thread.
  const std::byte* in(const MemoryDesc& order);

 private:
  Operand weight_;
  std::int64_t groups_;
  std::mutex mutex_;
  std::vector<std::pair<MemoryDesc, Ref<Memory>>> forms_;
};

}  // namespace kiln::cpu::onednn

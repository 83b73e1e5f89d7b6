// Arrival: a tensor whose elements come over a network, in pieces that the network writes where they stay.
#pragma once
#include <memory>
#include <span>

#include "kiln/core/tensor_data.hpp"
#include "kiln/ops/value.hpp"

namespace kiln::remote {

/// Memory of tensors that have gone is used again, as fresh pages cost more than to fill them does.
class Arrival {
 public:
  /// Throws MemoryError.
  explicit Arrival(const Desc& desc);

  /// The bytes that have not come yet.
  std::span<std::byte> left() const { return bytes_.subspan(came_); }
  bool is_complete() const { return came_ == bytes_.size(); }
  /// The next bytes have come: to the beginning of left(), or elsewhere, from where they are copied. There must be so many.
  void came(std::size_t count) { came_ += count; }
  void came(std::span<const std::byte> bytes);
  void restart() { came_ = 0; }
  /// All elements, without a copy but of truth values, which become 0 or 1. For an arrival that is complete.
  TensorData take() &&;

 private:
  Desc desc_;
  std::shared_ptr<std::byte> memory_;
  std::span<std::byte> bytes_;
  std::size_t came_ = 0;
};

}  // namespace kiln::remote

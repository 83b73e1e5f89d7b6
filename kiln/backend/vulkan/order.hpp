// Order: which commands must wait for those before them. Commands without a barrier between them run side by side, so
// that there is one only where a command touches what another writes.
#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "kiln/backend/gpu/kernel/kernel.hpp"

namespace kiln::vulkan {

/// A range of the device's memory that a command touches.
struct Access {
  std::uint64_t begin, end;
  bool writes;
};
/// None: it is not known what a command touches.
using Accesses = std::optional<std::vector<Access>>;

/// The tensors that there are, by address. Thread-safe.
class Tensors {
 public:
  void acquired(const std::byte* start, std::size_t bytes);
  void released(const std::byte* start);
  /// What a launch of the kernel touches: the whole of each tensor in which an argument points, and reads and writes of
  /// it as the parameter says.
  Accesses accesses_of(const gpu::Kernel& kernel, std::span<const std::uint64_t> arguments) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> ends_;  // by where they begin
};

/// The commands since the last barrier.
class Order {
 public:
  /// Must a command wait for those before it? It is among them from here on.
  bool waits(const Accesses& accesses);

 private:
  std::vector<Access> open_;
  bool is_unknown_ = false;  // is there a command among them of which it is not known what it touches?
};

}  // namespace kiln::vulkan

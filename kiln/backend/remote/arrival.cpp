#include "kiln/backend/remote/arrival.hpp"

#include <cstring>
#include <limits>

#include "kiln/backend/memory/memory_pool.hpp"

namespace kiln::remote {
namespace {

constexpr std::int64_t kMostUnused = std::int64_t{1} << 30;  // bytes that are kept

/// Never destroyed: tensors may outlive all else.
MemoryPool& pool() {
  static MemoryPool& pool = *new MemoryPool(std::numeric_limits<std::size_t>::max());
  return pool;
}

}  // namespace

Arrival::Arrival(const Desc& desc) : desc_(desc) {
  const auto bytes = static_cast<std::size_t>(numel(desc.shape)) * size_of(desc.dtype);
  if (bytes == 0) return;
  std::byte* const memory = pool().acquire(bytes);
  require<MemoryError>(memory, "no memory for a tensor of shape ", desc.shape, " and type ", desc.dtype);
  memory_ = std::shared_ptr<std::byte>(memory, [bytes](std::byte* block) {
    pool().release(block, bytes);
    const MemoryStatistics now = pool().statistics();
    if (now.reserved - now.in_use > kMostUnused) pool().release_unused();
  });
  bytes_ = {memory, bytes};
}

void Arrival::came(std::span<const std::byte> bytes) {
  if (!bytes.empty()) std::memcpy(left().data(), bytes.data(), bytes.size());
  came(bytes.size());
}

TensorData Arrival::take() && { return TensorData::lent(desc_.shape, desc_.dtype, bytes_, std::move(memory_)); }

}  // namespace kiln::remote

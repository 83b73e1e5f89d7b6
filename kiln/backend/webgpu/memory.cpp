#include "kiln/backend/webgpu/memory.hpp"

namespace kiln::webgpu {
namespace {

// Addresses are pointers: 64 bits, or a browser's 32.
constexpr bool kHasWidePointers = sizeof(void*) == 8;
constexpr std::uint64_t kBegin = kHasWidePointers ? std::uint64_t{1} << 40 : std::uint64_t{1} << 16,
                        kEnd = kHasWidePointers ? std::uint64_t{1} << 47 : std::uint64_t{UINT32_MAX};
// Blocks begin at multiples of this, and something lies between any two.
constexpr std::uint64_t kStep = kHasWidePointers ? std::uint64_t{2} << 20 : std::uint64_t{64} << 10;

std::uint64_t with_gap(std::uint64_t bytes) { return (bytes + 2 * kStep - 1) / kStep * kStep; }

}  // namespace

Buffer::Buffer(Ref<Session> session, std::uint64_t bytes, Flags usage) : session_(std::move(session)), size_(bytes) {
  session_->check();
  const std::optional<Trouble> trouble = session_->trouble_of([&] {
    const BufferDescriptor descriptor{.usage = usage, .size = bytes};
    handle_ = session_->functions().create_buffer(session_->device(), &descriptor);
  });
  if (!trouble && handle_) return;
  if (handle_) {
    const std::lock_guard lock(session_->mutex());
    session_->functions().buffer_release(handle_);
  }
  if (trouble && !trouble->memory)
    fail<DeviceError>("webgpu: a buffer of ", bytes, " bytes cannot be made: ", trouble->words);
  fail<MemoryError>("webgpu: there is no room for a buffer of ", bytes, " bytes");
}

Buffer::~Buffer() {
  const std::lock_guard lock(session_->mutex());
  session_->functions().buffer_release(handle_);
}

std::unique_ptr<Buffer> DeviceMemory::make(std::size_t bytes) const {
  try {
    return std::make_unique<Buffer>(session_, bytes, kStorage | kCopySource | kCopyTarget);
  } catch (const MemoryError&) { return nullptr; }
}

std::byte* DeviceMemory::map(std::size_t bytes) {
  const std::uint64_t most = session_->adapter().limits.buffer_bytes;
  require<DeviceError>(bytes <= most, "webgpu: a block of ", bytes, " bytes is needed, and a buffer has at most ",
                       most);
  std::unique_ptr<Buffer> buffer = make(bytes);
  if (!buffer) {
    settle_();
    buffer = make(bytes);
  }
  if (!buffer) return nullptr;
  const std::lock_guard lock(mutex_);
  std::uint64_t address = kBegin;  // the first room between two blocks
  for (const auto& [start, other] : buffers_) {
    if (start - address >= with_gap(bytes)) break;
    address = start + with_gap(other->size());
  }
  if (kEnd - address < with_gap(bytes)) return nullptr;
  buffers_.emplace(address, std::move(buffer));
  return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(address));
}

// Commands that are submitted, or recorded, keep the buffers that they use.
bool DeviceMemory::unmap(std::byte* start, std::size_t) {
  std::unique_ptr<Buffer> buffer;
  const std::lock_guard lock(mutex_);
  const auto known = buffers_.find(address_of(start));
  if (known == buffers_.end()) return false;
  buffer = std::move(known->second);
  buffers_.erase(known);
  return true;
}

void DeviceMemory::acquired(std::uint64_t start, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  live_.insert_or_assign(start, start + bytes);
}
void DeviceMemory::released(std::uint64_t start) {
  const std::lock_guard lock(mutex_);
  live_.erase(start);
}

Extent DeviceMemory::extent_of(std::uint64_t address) const {
  const std::lock_guard lock(mutex_);
  auto next = live_.upper_bound(address);
  if (next == live_.begin()) return {address, address};
  const auto& [begin, end] = *--next;
  return address <= end ? Extent{begin, end} : Extent{address, address};
}

Place DeviceMemory::find(std::uint64_t address, std::uint64_t bytes) const {
  const std::lock_guard lock(mutex_);
  auto next = buffers_.upper_bound(address);
  if (next != buffers_.begin()) {
    const auto& [start, buffer] = *--next;
    const std::uint64_t offset = address - start;
    if (offset <= buffer->size() && bytes <= buffer->size() - offset)
      return {buffer->handle(), offset, buffer->size() - offset};
  }
  fail<DeviceError>("webgpu: ", bytes, " bytes at ", address, " are in no buffer of the device");
}

}  // namespace kiln::webgpu

// Memory: the device's, as blocks for pools, which are found again by their addresses; and the host's, which both touch.
#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <span>

#include "kiln/backend/memory/block_source.hpp"
#include "kiln/backend/vulkan/context.hpp"

namespace kiln::vulkan {

/// Memory with a buffer that is all of it.
class Buffer {
 public:
  enum class Kind : std::uint8_t {
    Device,   // the device's own
    Staging,  // that the host writes and the device reads, also by its address
    Landing,  // that the device writes and the host reads
  };
  /// Throws MemoryError.
  Buffer(Ref<Context> context, Kind kind, std::size_t bytes);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  VkBuffer handle() const { return buffer_; }
  std::uint64_t address() const { return address_; }
  std::size_t size() const { return size_; }
  std::byte* data() const { return data_; }  // null where the host cannot see it

 private:
  void create(Kind kind);
  void release() noexcept;

  const Ref<Context> context_;
  const std::size_t size_;
  VkBuffer buffer_ = nullptr;
  VkDeviceMemory memory_ = nullptr;
  std::uint64_t address_ = 0;
  std::byte* data_ = nullptr;
};

/// A place in a buffer.
struct Place {
  VkBuffer buffer;
  VkDeviceSize offset;
  std::uint64_t address = 0;  // the device's, of device memory
};

class DeviceMemory final : public BlockSource {
 public:
  /// `finish` waits for all work of the device.
  DeviceMemory(Ref<Context> context, std::function<void()> finish)
      : context_(std::move(context)), finish_(std::move(finish)) {}
  std::byte* map(std::size_t bytes) override;
  /// Waits for the device, which may still use the memory.
  bool unmap(std::byte* start, std::size_t bytes) override;
  bool returns_parts() const override { return false; }

  /// Throws DeviceError if these bytes are not in one block.
  Place find(const std::byte* start, std::size_t bytes) const;

 private:
  const Ref<Context> context_;
  const std::function<void()> finish_;
  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::unique_ptr<Buffer>> blocks_;  // by address
};

}  // namespace kiln::vulkan

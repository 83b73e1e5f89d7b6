// Memory: the device's buffers as blocks for pools. Kernels see buffers, not addresses, so that the addresses are made
// up: ranges that no two buffers share.
#pragma once
#include <functional>
#include <map>
#include <memory>

#include "kiln/backend/memory/block_source.hpp"
#include "kiln/backend/webgpu/session.hpp"

namespace kiln::webgpu {

/// Addresses from one to before another.
struct Extent {
  std::uint64_t begin = 0, end = 0;
};

/// A part of a buffer.
struct Place {
  BufferHandle buffer = nullptr;
  std::uint64_t offset = 0;
  std::uint64_t left = 0;  // bytes from there to the buffer's end
};

/// Owns a buffer.
class Buffer {
 public:
  /// Throws MemoryError where there is no room for it, and DeviceError.
  Buffer(Ref<Session> session, std::uint64_t bytes, Flags usage);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  BufferHandle handle() const { return handle_; }
  std::uint64_t size() const { return size_; }

 private:
  const Ref<Session> session_;
  const std::uint64_t size_;
  BufferHandle handle_ = nullptr;
};

class DeviceMemory final : public BlockSource {
 public:
  /// `settle` waits until the device has done all that it was told, after which it may have memory again.
  DeviceMemory(Ref<Session> session, std::function<void()> settle)
      : session_(std::move(session)), settle_(std::move(settle)) {}
  std::byte* map(std::size_t bytes) override;
  bool unmap(std::byte* start, std::size_t bytes) override;
  bool returns_parts() const override { return false; }

  /// Notes which ranges are in use, each by one tensor.
  void acquired(std::uint64_t start, std::size_t bytes);
  void released(std::uint64_t start);
  /// The tensor's memory that this address lies in, or is the end of; empty, and there, if it is nobody's.
  Extent extent_of(std::uint64_t address) const;
  /// The place of an address. Throws DeviceError if it is in no buffer, or fewer than `bytes` bytes follow.
  Place find(std::uint64_t address, std::uint64_t bytes) const;

 private:
  std::unique_ptr<Buffer> make(std::size_t bytes) const;

  const Ref<Session> session_;
  const std::function<void()> settle_;
  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::unique_ptr<Buffer>> buffers_;  // by address
  std::map<std::uint64_t, std::uint64_t> live_;               // ends of tensors by their addresses
};

inline std::uint64_t address_of(const std::byte* start) { return reinterpret_cast<std::uintptr_t>(start); }

}  // namespace kiln::webgpu

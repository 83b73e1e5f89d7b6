// Memory: the device's, as blocks for pools, and pinned memory of the host.
#pragma once
#include <functional>

#include "kiln/backend/memory/block_source.hpp"
#include "kiln/backend/memory/memory_budget.hpp"
#include "kiln/backend/streams/stream.hpp"
#include "kiln/core/function_ref.hpp"

namespace kiln::streams {

class DeviceMemory final : public BlockSource {
 public:
  /// `when_done` starts the commands of all streams that are still queued, waits for them, and then calls its argument;
  /// false, without a call, where the device fails while it is waited for. Throws what starting the commands throws.
  using WhenDone = std::function<bool(FunctionRef<void()>)>;
  DeviceMemory(Ref<Stream> stream, WhenDone when_done) : stream_(std::move(stream)), when_done_(std::move(when_done)) {}
  /// Throws DeviceError where the device is lost.
  std::byte* map(std::size_t bytes) override;
  /// Waits for the device, which may still use the memory.
  bool unmap(std::byte* start, std::size_t bytes) override;
  bool returns_parts() const override { return false; }

 private:
  const Ref<Stream> stream_;
  const WhenDone when_done_;
};

/// Memory of the device that a library of a stream works in, given back at the end. That of a stream beside the first
/// counts against the device's budget; the first's is part of what no budget holds (usable_memory()).
class Workspace {
 public:
  Workspace(Ref<Stream> stream, MemoryBudget& budget) : stream_(std::move(stream)), budget_(budget) {}
  ~Workspace();
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  /// Takes so many bytes, unless it has some already. False where there is no room.
  bool reserve(std::size_t bytes);
  Address address() const { return address_; }
  std::size_t bytes() const { return bytes_; }

 private:
  bool counts() const { return stream_->number_of_stream() != 0; }

  const Ref<Stream> stream_;
  MemoryBudget& budget_;
  Address address_ = 0;
  std::size_t bytes_ = 0;
};

/// Pinned memory of the host, so that copies to and from the device run while the host continues; and an event that
/// tells when they are done. Throws MemoryError.
class Pinned {
 public:
  Pinned(Ref<Stream> stream, std::size_t bytes);
  ~Pinned();
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

  std::byte* data() const { return data_; }
  std::size_t size() const { return size_; }
  Event& done() { return done_; }

 private:
  const Ref<Stream> stream_;
  std::byte* data_ = nullptr;
  const std::size_t size_;
  Event done_;
};

}  // namespace kiln::streams

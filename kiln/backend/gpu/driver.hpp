// Driver: the few things that the backend of a GPU needs from the device's own software. Folders beside
// this one implement it; simulated/ runs kernels on the host, so that everything above can be tested without a GPU.
#pragma once
#include <span>

#include "kiln/backend/gpu/capabilities.hpp"
#include "kiln/backend/gpu/collectives.hpp"
#include "kiln/backend/gpu/kernel/kernel.hpp"
#include "kiln/backend/gpu/library.hpp"
#include "kiln/backend/gpu/order/streams.hpp"
#include "kiln/backend/gpu/text_kernel.hpp"
#include "kiln/backend/memory/block_source.hpp"
#include "kiln/backend/memory/memory_budget.hpp"
#include "kiln/ops/backend.hpp"

namespace kiln::gpu {

/// The most arguments that a kernel takes: 4 KiB.
inline constexpr std::size_t kMostArguments = 512;

/// A kernel that the device can run.
class Code : public RefCounted {};

class Peer;  // peers.hpp

/// A copy of bytes to the host that is under way.
class Transfer : public RefCounted {
 public:
  virtual bool ready() const = 0;
  /// Waits, and copies the bytes to `to`. Called once; an error of the device is thrown here.
  virtual void wait(std::byte* to) = 0;
  /// Calls `then` when ready, from any thread.
  virtual void notify(Wakeup then) = 0;
};

/// Work runs in the order in which any thread submits it to a stream, and no call waits unless it says so; only
/// collectives of ranks (collectives()) run alongside it. All threads share one stream, unless a thread has one of its
/// own (streams()): then its calls are about that one (stream_of()), unless they say otherwise. Addresses are the
/// device's; the host never reads them.
class Driver : public RefCounted {
 public:
  virtual std::string name() const = 0;  // "cuda", "cuda:1"
  /// The device's model, its driver and that driver's version, in words: what is measured on it holds for these.
  virtual std::string identity() const { return name(); }
  virtual const Capabilities& capabilities() const = 0;
  virtual BlockSource& memory() = 0;
  /// This limits what pools and the driver itself hold of memory().
  MemoryBudget& budget() { return budget_; }
  /// Tells that these bytes of memory() are now in use, or free again: for drivers that check accesses.
  virtual void acquired(std::byte* /*start*/, std::size_t /*bytes*/) {}
  virtual void released(std::byte* /*start*/, std::size_t /*bytes*/) {}

  /// Throws Refused (kernel/refusal.hpp) where the device's own compiler does not take the kernel: operations then run
  /// in another way. Throws another DeviceError where the device fails. Both have the kernel's name, the compiler's
  /// message and the source text.
  virtual Ref<Code> compile(const Kernel& kernel) = 0;
  /// Arguments are 8 bytes each, in the order of the kernel's parameters: addresses, or numbers in the low bytes. With
  /// no blocks nothing is launched.
  virtual void launch(const Code& code, std::int64_t blocks, std::span<const std::uint64_t> arguments) = 0;

  /// The caller may change `from` once it returns.
  virtual void upload(std::byte* to, std::span<const std::byte> from) = 0;
  virtual Ref<Transfer> download(const std::byte* from, std::size_t bytes) = 0;
  virtual void copy(std::byte* to, const std::byte* from, std::size_t bytes) = 0;
  virtual void clear(std::byte* start, std::size_t bytes) = 0;  // fills with zero bytes
  /// Starts the work submitted so far, if the driver collects it.
  virtual void flush() {}
  /// Waits for all streams.
  virtual void synchronize() = 0;

  // ---- what only some devices have; null otherwise ----
  virtual Library* library() { return nullptr; }
  virtual Collectives* collectives() { return nullptr; }
  virtual TextCompiler* texts() { return nullptr; }
  virtual Peer* peer() { return nullptr; }
  virtual Streams* streams() { return nullptr; }

 private:
  MemoryBudget budget_;
};

}  // namespace kiln::gpu

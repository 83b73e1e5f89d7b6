// Driver: the little that the backend of a GPU asks of the device's own software. CUDA is one; simulated/ runs kernels on the
// host, so that all that stands above can be tested without a GPU.
#pragma once
#include <span>

#include "kiln/backend/gpu/attention.hpp"
#include "kiln/backend/gpu/convolution.hpp"
#include "kiln/backend/gpu/cuda_text.hpp"
#include "kiln/backend/gpu/kernel/kernel.hpp"
#include "kiln/backend/gpu/meeting.hpp"
#include "kiln/backend/gpu/product.hpp"
#include "kiln/backend/memory/block_source.hpp"
#include "kiln/ops/backend.hpp"

namespace kiln {
class Communicator;
}

namespace kiln::gpu {

/// That a kernel takes: 4 KiB.
inline constexpr std::size_t kMostArguments = 512;

/// A kernel that the device can run.
class Code : public RefCounted {};

/// Bytes on their way to the host.
class Transfer : public RefCounted {
 public:
  virtual bool ready() const = 0;
  /// Waits, and copies them to where they belong. Called once; an error of the device surfaces here.
  virtual void wait(std::byte* to) = 0;
  /// Calls `then` when ready, from any thread.
  virtual void notify(Wakeup then) = 0;
};

struct Capabilities {
  int multiprocessors = 1;
  std::int64_t memory = 0;                // bytes that programs may hold
  std::int64_t shared_memory = 48 << 10;  // bytes, the most that a block may have
  std::int64_t together = 0;         // blocks of any kernel that may wait for each other (Builder::meet); 0: none may
  bool fragments = false;            // has it tensor cores (Builder::multiply_fragments)?
  bool tf32 = false;                 // which its library is to use for float32, too
  bool takes_cuda = false;           // kernels that are CUDA C++?
  std::int64_t few_channels = 0;     // below which its library is no quicker without these than our convolutions
  std::int64_t least_attention = 0;  // multiplications, below which its library is not worth asking
};

/// What it is asked to do happens in the order in which it was asked, by any thread, and nothing waits but where it says so;
/// meetings of ranks alone go on beside it. Addresses are the device's; the host never looks there.
class Driver : public RefCounted {
 public:
  virtual std::string name() const = 0;  // "cuda", "cuda:1"
  virtual const Capabilities& capabilities() const = 0;
  virtual BlockSource& memory() = 0;
  /// These bytes of that are somebody's from now on, or nobody's again: for drivers that watch over memory.
  virtual void acquired(std::byte* /*start*/, std::size_t /*bytes*/) {}
  virtual void released(std::byte* /*start*/, std::size_t /*bytes*/) {}

  /// Throws DeviceError with the kernel's name, the compiler's words and the text.
  virtual Ref<Code> compile(const Kernel& kernel) = 0;
  /// The same of text; null where it takes none (Capabilities::takes_cuda).
  virtual Ref<Code> compile(const CudaText&) { return nullptr; }
  /// Arguments are 8 bytes each, in the order of the kernel's parameters: addresses; numbers in the low bytes. No blocks: no
  /// launch.
  virtual void launch(const Code& code, std::int64_t blocks, std::span<const std::uint64_t> arguments) = 0;

  /// The bytes may change once it returns.
  virtual void upload(std::byte* to, std::span<const std::byte> from) = 0;
  virtual Ref<Transfer> download(const std::byte* from, std::size_t bytes) = 0;
  virtual void copy(std::byte* to, const std::byte* from, std::size_t bytes) = 0;
  virtual void clear(std::byte* start, std::size_t bytes) = 0;  // to zero bytes
  /// Starts what was asked for, if the driver gathers it.
  virtual void flush() {}
  virtual void synchronize() = 0;

  /// By the device's library, if it has one that knows such products; else false, with nothing done.
  virtual bool multiply(const Product&) { return false; }
  /// Likewise. Of tensors of at least one element.
  virtual bool convolve(const Convolution&) { return false; }
  /// Likewise. What was asked to be made may hold anything where it is false.
  virtual bool attend(const Attention&) { return false; }
  /// Can the ranks meet by a library of the device's? All of them ask, and all get the same answer; then all call meet() in
  /// the same order, after they have told each other what they are going to do.
  virtual bool meets(Communicator&) { return false; }
  /// It begins once all that was asked for before is done, and a meeting after the one before it; what is asked for later
  /// does not wait for it, and must leave its memory alone until then. What await() knows it by: it grows; 0: it is in order
  /// with everything else.
  virtual std::uint64_t meet(Communicator&, const Meeting&) { return 0; }
  /// What is asked for from here on happens after that meeting and those before it.
  virtual void await(std::uint64_t /*meeting*/) {}
  /// How many bytes of room it makes that quickest with.
  virtual std::int64_t attention_room(const Attention&) { return 0; }
};

}  // namespace kiln::gpu

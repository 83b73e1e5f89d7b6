// Kernels on the host: what a kernel means, without a GPU. All threads of a block take each step together, under a mask of
// those that are there; so a step is looked up once for a block and not for a thread.
//
// What a GPU would leave undefined is an error that names the kernel, the block and the thread: an access outside of what
// may be touched, two threads that meet at an element of shared memory between two barriers (one of them writing), an
// element that is read before it is written, a barrier or a shuffle that not all threads get to.
#pragma once
#include <cstdint>
#include <memory>
#include <span>

#include "kiln/backend/gpu/kernel/kernel.hpp"

namespace kiln::gpu {

namespace interpreted {
struct Program;
}

/// Bytes of the host's memory that a kernel may touch through one of its arguments; by itself, all of it.
struct Extent {
  std::uint64_t begin = 0, end = ~std::uint64_t{0};
};

/// A kernel made ready to run. Runs do not disturb each other.
class Interpreter {
 public:
  /// Throws ArgumentError where the kernel contradicts itself.
  explicit Interpreter(const Kernel& kernel);

  /// Arguments as Driver::launch takes them, where addresses are the host's; `extents` of each, or none: then nothing is
  /// known of buffers' sizes, and indices are not checked. Throws DeviceError where the kernel goes wrong.
  void run(std::int64_t blocks, std::span<const std::uint64_t> arguments, std::span<const Extent> extents = {}) const;

 private:
  std::shared_ptr<const interpreted::Program> program_;
};

inline void interpret(const Kernel& kernel, std::int64_t blocks, std::span<const std::uint64_t> arguments,
                      std::span<const Extent> extents = {}) {
  Interpreter(kernel).run(blocks, arguments, extents);
}

}  // namespace kiln::gpu

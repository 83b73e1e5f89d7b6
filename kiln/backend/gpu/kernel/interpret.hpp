// Runs kernels on the host: it defines what a kernel means, without a GPU. All threads of a block execute each step
// together, under a mask of the active ones; so a step is decoded once per block rather than once per thread.
//
// What a GPU leaves undefined is an error that names the kernel, the block and the thread: an access outside of the
// allowed memory, a race of two threads at an element of shared memory between two barriers, a read of an uninitialized
// element, a barrier or a shuffle that not all threads reach.
#pragma once
#include <cstdint>
#include <memory>
#include <span>

#include "kiln/backend/gpu/kernel/kernel.hpp"

namespace kiln::gpu {

namespace interpreted {
struct Program;
}

/// The host's memory that a kernel may touch through one of its arguments; by default, all of it.
struct Extent {
  std::uint64_t begin = 0, end = ~std::uint64_t{0};
};

/// A kernel that is prepared to run. Several threads may run it at once.
class Interpreter {
 public:
  /// Throws ArgumentError if the kernel contradicts itself.
  explicit Interpreter(const Kernel& kernel);

  /// Takes arguments like Driver::launch, with addresses of the host; `extents` has one entry per argument, or is
  /// empty: then the sizes of buffers are unknown, and indices are not checked. Throws DeviceError for an error of the
  /// kernel.
  void run(std::int64_t blocks, std::span<const std::uint64_t> arguments, std::span<const Extent> extents = {}) const;

 private:
  std::shared_ptr<const interpreted::Program> program_;
};

inline void interpret(const Kernel& kernel, std::int64_t blocks, std::span<const std::uint64_t> arguments,
                      std::span<const Extent> extents = {}) {
  Interpreter(kernel).run(blocks, arguments, extents);
}

}  // namespace kiln::gpu

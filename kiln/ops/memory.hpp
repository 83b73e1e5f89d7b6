// Statistics of a device's memory: device.memory().
#pragma once
#include <cstdint>
#include <string>

namespace kiln {

struct MemoryStatistics {
  // Bytes.
  std::int64_t in_use = 0;    // allocated to callers
  std::int64_t reserved = 0;  // obtained from the system: in use, or cached
  std::int64_t peak = 0;      // highest in_use so far, or since reset_memory_peak()
  std::int64_t limit = 0;     // the most that reserved may reach; 0: unknown

  // in_use, by purpose.
  std::int64_t uploads = 0;  // data that came from the host: batches, weights from a file
  std::int64_t results = 0;  // results of operations: activations, gradients, initialised or trained parameters
  std::int64_t scratch = 0;  // workspaces of kernels
  // Copies of weights in the order in which kernels read them; freed when memory is short.
  std::int64_t packed = 0;

  // Numbers of memory blocks since the start of the program.
  std::int64_t requests = 0;         // blocks that were requested
  std::int64_t system_requests = 0;  // requests that had to go to the system: none in a warm training step
};

/// "12.5 MiB in use (uploads 1 MiB, results 11 MiB, scratch 512 KiB, packed 0 bytes), 32 MiB held from the system, peak 20 MiB"
void append(std::string& out, const MemoryStatistics& memory);

/// "12.5 MiB", "640 bytes"
std::string text_of_bytes(std::int64_t bytes);

}  // namespace kiln

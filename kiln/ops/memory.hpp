// A device's memory in figures: device.memory().
#pragma once
#include <cstdint>
#include <string>

namespace kiln {

struct MemoryStatistics {
  // Bytes.
  std::int64_t in_use = 0;    // handed out
  std::int64_t reserved = 0;  // held from the system: in use, or kept for later
  std::int64_t peak = 0;      // highest in_use so far, or since reset_memory_peak()
  std::int64_t limit = 0;     // what reserved may reach; 0: unknown

  // in_use, by what it is for.
  std::int64_t uploads = 0;  // data that came from the host: batches, weights from a file
  std::int64_t results = 0;  // of operations: activations, gradients, parameters since they were drawn or trained
  std::int64_t scratch = 0;  // what kernels keep for themselves: workspaces
  // Weights once more, in the order that kernels read them in; given back when memory is short.
  std::int64_t packed = 0;

  // Blocks of memory, counted from the start of the program.
  std::int64_t requests = 0;         // that were asked for
  std::int64_t system_requests = 0;  // for which the system had to be asked: none in a training step that is warm
};

/// "12.5 MiB in use (uploads 1 MiB, results 11 MiB, scratch 512 KiB, packed 0 bytes), 32 MiB held from the system, peak 20 MiB"
void append(std::string& out, const MemoryStatistics& memory);

/// "12.5 MiB", "640 bytes"
std::string text_of_bytes(std::int64_t bytes);

}  // namespace kiln

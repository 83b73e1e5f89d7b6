// Splits work over the cores. The chunks never depend on the number of threads, so that results are the same bits on
// one thread and on many. A build without threads links threads/serial.cpp.
#pragma once
#include <cstdint>

#include "kiln/core/function_ref.hpp"

namespace kiln {

using ChunkBody = FunctionRef<void(std::int64_t begin, std::int64_t end)>;

/// Calls body(begin, end) over [0, count) in chunks of `grain` (the last may be shorter), from several threads. The
/// chunks depend on count and grain alone. The caller runs them all where there is only one, inside another
/// parallel_for, and while another thread's parallel_for is running (see Threads). Choose a grain worth at least 5 us
/// of work. An exception reaches the caller; of several, the one of the first chunk. Throws ArgumentError for a grain
/// below 1.
void parallel_for(std::int64_t count, std::int64_t grain, ChunkBody body);

/// Calls body for the same chunks in order, on the calling thread.
void serial_for(std::int64_t count, std::int64_t grain, ChunkBody body);

/// The number of threads that parallel_for uses, the caller included: that of the innermost Threads object, or else
/// that of the process. The process starts with KILN_THREADS (ArgumentError unless a number from 1 to 1024), or with
/// the number of cores that it may use (threads/cores.hpp).
int num_threads();
/// Sets the process's number of threads. Throws ArgumentError outside 1 to 1024, and inside a parallel_for. Waits for
/// parallel work that is running.
void set_num_threads(int threads);

/// While this object lives, parallel work of its thread runs on `threads` threads of its own, the calling one included:
///
///   Threads few(4);   // in each of two threads that serve requests: side by side on eight cores
///
/// The innermost object is used; results are the same bits. Throws ArgumentError outside 1 to 1024, and inside a
/// parallel_for. In builds without threads everything runs on the caller.
class Threads {
 public:
  explicit Threads(int threads);
  ~Threads() {
    if (state_) destroy(state_);
  }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  struct State;

 private:
  static void destroy(State* state);

  State* state_ = nullptr;
};

}  // namespace kiln

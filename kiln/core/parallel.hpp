// Splitting work over the cores. How work is cut never depends on the number of threads, so that results
// are the same bits on one thread and on many. A build without threads links threads/serial.cpp.
#pragma once
#include <cstdint>

#include "kiln/core/function_ref.hpp"

namespace kiln {

using PieceBody = FunctionRef<void(std::int64_t begin, std::int64_t end)>;

/// Calls body(begin, end) over [0, count) in pieces of `grain` (the last may be shorter), from several threads.
/// The pieces depend on count and grain alone. Below two pieces, inside another parallel_for, and while another
/// thread's parallel_for is under way (see Threads), the caller does all of it. Choose a grain worth at least 5 us of work.
/// An exception reaches the caller; of several, that of the first piece. Throws ArgumentError for a grain below 1.
void parallel_for(std::int64_t count, std::int64_t grain, PieceBody body);

/// The same pieces in order, on the calling thread.
void serial_for(std::int64_t count, std::int64_t grain, PieceBody body);

/// Threads that parallel_for uses, the caller among them: those of the innermost Threads, or else of the process. At the
/// start: KILN_THREADS (ArgumentError where that is no number from 1 to 1024), or the cores that the process may use
/// (threads/cores.hpp).
int num_threads();
/// Those of the process. Throws ArgumentError outside 1 to 1024, and inside a parallel_for. Waits for work under way.
void set_num_threads(int threads);

/// While this lives, what its thread splits runs on so many threads of its own, this one among them:
///
///   Threads few(4);   // in each of two threads that serve requests: side by side on eight cores
///
/// The innermost counts; results are the same bits. Throws ArgumentError outside 1 to 1024, and inside a parallel_for. In
/// builds without threads all runs on the caller.
class Threads {
 public:
  explicit Threads(int threads);
  ~Threads() {
    if (crew_) dismiss(crew_);
  }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  struct Crew;

 private:
  static void dismiss(Crew* crew);

  Crew* crew_ = nullptr;
};

}  // namespace kiln

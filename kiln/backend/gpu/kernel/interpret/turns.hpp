// Blocks that wait for each other (Statement::Kind::Await): each has a thread of the host, and they take turns, so that
// only one runs at a time and all runs are the same.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <mutex>
#include <vector>

#include "kiln/core/function_ref.hpp"

namespace kiln::gpu::interpreted {

class Turns {
 public:
  /// Calls run(i) for each block, and returns when all are done; throws the first exception that a block threw.
  void run(std::int64_t blocks, FunctionRef<void(std::int64_t)> run);
  /// Called by block i: lets other blocks run until `holds`. Returns false on a deadlock: all wait for each other, or
  /// for a block that has failed.
  bool wait(std::int64_t block, FunctionRef<bool()> holds);

 private:
  void hand_on(std::int64_t from);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::uint8_t> done_;  // by block
  std::int64_t now_ = 0;            // whose turn it is
  std::int64_t in_vain_ = 0;        // turns since a block last made progress
  std::exception_ptr failure_;
};

}  // namespace kiln::gpu::interpreted

// Blocks that wait for each other (Statement::Kind::Await): each has a thread of the host's, and they take turns, so that one
// runs at a time and all runs are alike.
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
  /// run(i) for each block, until all are done; throws what the first of them to fail threw.
  void run(std::int64_t blocks, FunctionRef<void(std::int64_t)> run);
  /// Called by block i: lets others go on until `holds`. False where nobody can go on any more: all wait for each other, or
  /// for one that has failed.
  bool wait(std::int64_t block, FunctionRef<bool()> holds);

 private:
  void hand_on(std::int64_t from);

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::uint8_t> done_;  // by block
  std::int64_t now_ = 0;            // whose turn it is
  std::int64_t in_vain_ = 0;        // turns since somebody last went on
  std::exception_ptr failure_;
};

}  // namespace kiln::gpu::interpreted

// Recorder: the commands that wait to be submitted. They run in the order in which they are recorded.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "kiln/backend/webgpu/memory.hpp"

namespace kiln::webgpu {

/// A dispatch of a kernel.
struct Dispatch {
  PipelineHandle pipeline;
  GroupLayoutHandle layout;
  std::span<const GroupEntry> buffers;     // by binding
  std::span<const std::uint32_t> uniform;  // the words of the last binding; none: there is none
  std::uint32_t columns, rows;             // of the grid
};

/// Thread-safe.
class Recorder {
 public:
  explicit Recorder(Ref<Session> session);
  ~Recorder();

  void dispatch(const Dispatch& what);
  /// Copies whole words, between two buffers.
  void copy(const Place& to, const Place& from, std::uint64_t bytes);
  void clear(const Place& start, std::uint64_t bytes);  // whole words
  /// Submits all commands, and then calls f(), which may use the queue.
  template <class F>
  void flush_and(F f) {
    const std::lock_guard lock(session_->mutex());
    flush_locked();
    f();
  }
  void flush() {
    flush_and([] {});
  }

 private:
  EncoderHandle encoder();
  PassHandle pass();
  void end_pass();
  void counted();
  void flush_locked();
  std::uint64_t place_of(std::span<const std::uint32_t> uniform);

  const Ref<Session> session_;
  const std::uint64_t alignment_;  // of uniform blocks, in words
  std::unique_ptr<Buffer> uniforms_;
  std::vector<std::uint32_t> words_;  // of the uniform blocks of the commands
  EncoderHandle encoder_ = nullptr;
  PassHandle pass_ = nullptr;
  int commands_ = 0;
};

}  // namespace kiln::webgpu

// Copies to the host: through buffers that the host maps, once the device is done.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>

#include "kiln/backend/gpu/driver.hpp"
#include "kiln/backend/gpu/landing.hpp"
#include "kiln/backend/webgpu/recorder.hpp"

namespace kiln::webgpu {

/// Memory that the device writes to and the host then reads, for one copy at a time.
class Landing {
 public:
  Landing(Ref<Session> session, std::uint64_t bytes)
      : session_(session), buffer_(std::move(session), bytes, kMapRead | kCopyTarget) {}
  const Buffer& buffer() const { return buffer_; }

  /// Asks for the first `bytes` bytes, as they are once the submitted work is done. With the session held.
  void ask(std::uint64_t bytes);
  /// Has the answer come? Always true once the device is lost.
  bool ready() const;
  /// Waits for the answer, gives its bytes to `use`, and is free for another copy. Throws DeviceError.
  void fetch(FunctionRef<void(const std::byte*)> use);
  /// Waits for the answer; never throws.
  void settle() noexcept;
  /// Can it take another copy?
  bool is_free() const { return free_; }

 private:
  struct Answer {
    std::atomic<int> state{0};  // 0: none yet, 1: mapped, 2: failed
    std::mutex mutex;
    std::string words;
  };
  static void answer(std::uint32_t status, Words words, void* to, void*);

  const Ref<Session> session_;
  const Buffer buffer_;
  std::uint64_t asked_ = 0;
  std::shared_ptr<Answer> answer_;
  std::atomic<bool> free_{true};
};

class Downloads : public RefCounted {
 public:
  Downloads(Ref<Session> session, Recorder& recorder, const DeviceMemory& memory)
      : session_(std::move(session)), recorder_(recorder), memory_(memory) {}
  /// Copies the bytes as they are once the work submitted before is done.
  Ref<gpu::Transfer> start(std::uint64_t from, std::size_t bytes);

 private:
  friend class Download;
  std::shared_ptr<Landing> take(std::size_t bytes);
  void give_back(std::unique_ptr<Landing> landing);

  const Ref<Session> session_;
  Recorder& recorder_;
  const DeviceMemory& memory_;
  gpu::FreeLandings<Landing> free_;
  gpu::Notifier notifier_;
};

}  // namespace kiln::webgpu

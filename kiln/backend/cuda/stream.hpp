// Stream: a GPU's context and the one queue of its work, with the errors that come out of it. SideStream: a queue beside it,
// for what ranks meet for.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "kiln/backend/cuda/driver_api.hpp"
#include "kiln/core/error/error.hpp"
#include "kiln/core/ref.hpp"

namespace kiln::cuda {

class Stream : public RefCounted {
 public:
  /// The first stream of device `index`. Throws DeviceError where there is none.
  explicit Stream(int index);
  ~Stream() override;

  /// "cuda", "cuda:1"
  const std::string& device() const { return device_; }
  StreamHandle handle() const { return stream_; }
  int attribute(int attribute) const;
  DeviceId id() const;
  /// "NVIDIA H200"
  std::string model() const;
  /// "sm_90"
  std::string architecture() const;

  /// Throws what a call of the driver says: MemoryError where there is no memory, else DeviceError.
  template <class... Parts>
  void check(Result result, const Parts&... doing) const {
    if (result != kSuccess) [[unlikely]]
      raise_error(result, text(doing...));
  }
  /// The driver for this thread, which is in the device's context from here on.
  const DriverApi& api() const {
    check(enter(), "entering the device's context");
    return api_;
  }
  /// The same for those who give back what they had, and cannot say that the device is lost.
  const DriverApi& last_api() const noexcept {
    enter();
    return api_;
  }

  /// Notes what is launched, for errors that surface later. What was noted before place() was asked is known to be well
  /// after settled(place).
  void note(const std::string& name);
  std::uint64_t place() const;
  void settled(std::uint64_t place);

  /// Waits until the device has come by an event. Throws as check() does, and what lose() said.
  void wait_for(EventHandle event) const;
  /// Calls `look` now and then while somebody waits, from here on; nothing ends that.
  void watch(std::function<void()> look);
  /// What the device does from here on is of no use any more, and why.
  void lose(std::string reason);

 private:
  Result enter() const noexcept {
    ContextHandle current = nullptr;
    api_.context_get_current(&current);  // a thread's own variable, which others may have changed
    return current == context_ ? kSuccess : api_.context_set_current(context_);
  }
  [[noreturn]] void raise_error(Result result, const std::string& doing) const;
  std::string doubtful() const;

  const DriverApi& api_;
  std::string device_;
  DeviceNumber number_ = 0;
  ContextHandle context_ = nullptr;
  StreamHandle stream_ = nullptr;

  static constexpr std::size_t kNoted = 16;
  mutable std::mutex mutex_;
  std::array<std::string, kNoted> noted_;  // launch i at i % kNoted
  std::uint64_t launched_ = 0, settled_ = 0;
  std::shared_ptr<const std::function<void()>> look_;
  std::optional<std::string> lost_;
};

/// A mark in a stream.
class Event {
 public:
  explicit Event(Ref<Stream> stream);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record() { record(stream_->handle()); }
  /// In another stream of the device.
  void record(StreamHandle stream);
  /// What that stream is asked for from here on comes after the mark as it was recorded last.
  void hold_back(StreamHandle stream) const;
  /// Has the device come by? An error of the device is a yes, and thrown by wait().
  bool ready() const;
  void wait() const;

 private:
  const Ref<Stream> stream_;
  EventHandle event_ = nullptr;
  std::uint64_t place_ = 0;
};

/// A queue of work that the device does when it can, in an order of its own but for events. Its kernels begin before those of
/// the first stream, where both could.
class SideStream {
 public:
  explicit SideStream(Ref<Stream> stream);
  ~SideStream();
  SideStream(const SideStream&) = delete;
  SideStream& operator=(const SideStream&) = delete;
  StreamHandle handle() const { return side_; }

 private:
  const Ref<Stream> stream_;
  StreamHandle side_ = nullptr;
};

}  // namespace kiln::cuda

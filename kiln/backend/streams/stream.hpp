// Stream: a GPU's context and one of its queues of work, with the errors that come out of it. SideStream: another queue,
// for collectives of ranks.
#pragma once
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/backend/streams/driver_api.hpp"
#include "kiln/core/error/error.hpp"
#include "kiln/core/function_ref.hpp"
#include "kiln/core/ref.hpp"

namespace kiln::streams {

class Stream : public RefCounted {
 public:
  /// The main stream of device `index`. Throws DeviceError if there is none. The functions of the driver stay.
  Stream(const DriverApi& api, int index);
  /// Another stream of that device, with a number of its own. If one of them is lost, all are.
  Stream(const Stream& first, int number);
  ~Stream() override;

  /// 0: the main one
  int number_of_stream() const { return number_of_stream_; }

  /// "cuda", "cuda:1"
  const std::string& device() const { return device_; }
  /// "cuda": of all devices of the driver
  const char* driver() const { return api_.device; }
  StreamHandle handle() const { return stream_; }
  ContextHandle context() const { return context_; }
  int attribute(int attribute) const;
  DeviceNumber number() const { return number_; }
  DeviceId id() const;
  /// "NVIDIA H200"
  std::string model() const;
  /// What the driver says its version is, 12040 for CUDA 12.4; 0: it does not say.
  int driver_version() const;

  /// Throws an error of a driver call: MemoryError if the device has no memory left, else DeviceError.
  template <class... Parts>
  void check(Result result, const Parts&... doing) const {
    if (result != kSuccess) [[unlikely]]
      raise_error(result, text(doing...));
  }
  /// The driver; this thread's current context becomes the device's.
  const DriverApi& api() const {
    check(enter(), "entering the device's context");
    return api_;
  }
  /// Returns the driver in destructors, which cannot report that the device is lost.
  const DriverApi& last_api() const noexcept {
    enter();
    return api_;
  }

  /// Records the name of a launch, for errors that surface later. After settled(place), launches recorded before that
  /// place() are known to have succeeded.
  void note(const std::string& name);
  std::uint64_t place() const;
  void settled(std::uint64_t place);

  /// Waits for an event. Throws like check(), and the reason given to lose().
  void wait_for(EventHandle event) const;
  /// From here on, calls `look` regularly while a thread waits; watch(nullptr) ends that.
  void watch(std::function<void()> look);
  /// Declares the device's further results useless, for that reason.
  void lose(std::string reason);
  /// Does the work. If it throws, what did not work is the reason to lose the device, with the error's message.
  void or_lose(std::string_view what, FunctionRef<void()> work);

 private:
  Result enter() const noexcept {
    ContextHandle current = nullptr;
    api_.context_get_current(&current);  // thread-local in the driver; others may have changed it
    return current == context_ ? kSuccess : api_.context_set_current(context_);
  }
  /// The parts that all streams of a device share.
  struct OfDevice {
    std::mutex mutex;
    std::vector<const Stream*> streams{};
    std::shared_ptr<const std::function<void()>> look{};
    std::optional<std::string> lost{};
  };
  void make_stream();
  [[noreturn]] void raise_error(Result result, const std::string& doing) const;
  std::string doubtful() const;
  std::string own_doubtful() const;

  const DriverApi& api_;
  std::string device_;
  DeviceNumber number_ = 0;
  ContextHandle context_ = nullptr;
  StreamHandle stream_ = nullptr;
  const int number_of_stream_ = 0;
  const std::shared_ptr<OfDevice> of_device_;

  static constexpr std::size_t kNoted = 16;
  mutable std::mutex mutex_;
  std::array<std::string, kNoted> noted_;  // launch i is at i % kNoted
  std::uint64_t launched_ = 0, settled_ = 0;
};

/// An event in a stream.
class Event {
 public:
  explicit Event(Ref<Stream> stream);
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record() { record(stream_->handle()); }
  /// Records the event in another stream of the device.
  void record(StreamHandle stream);
  /// Work submitted to that stream from here on runs after the event as it was last recorded.
  void wait_in(StreamHandle stream) const;
  /// Does so for another stream, of this or of another device of the driver.
  void wait_in(const Stream& other) const;
  /// Has the device reached the event? True also after an error of the device, which wait() throws.
  bool ready() const;
  void wait() const;

 private:
  const Ref<Stream> stream_;
  EventHandle event_ = nullptr;
  std::uint64_t place_ = 0;
};

/// A queue of work that runs alongside the main stream, ordered only by events. Its kernels start before those of the
/// main stream if both could.
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

}  // namespace kiln::streams

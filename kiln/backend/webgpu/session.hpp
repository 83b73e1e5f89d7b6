// Session: a device of an adapter with its queue, one thread at a time, and the errors that come out of it.
#pragma once
#include <atomic>
#include <mutex>
#include <optional>

#include "kiln/backend/webgpu/adapter.hpp"
#include "kiln/core/error/error.hpp"
#include "kiln/core/function_ref.hpp"
#include "kiln/core/ref.hpp"

namespace kiln::webgpu {

/// An error of WebGPU.
struct Trouble {
  bool memory = false;  // the device has no memory left
  std::string words;    // the implementation's
};

/// Why a device's further results are useless. Never destroyed.
class Loss {
 public:
  static Loss& make();
  bool happened() const { return happened_.load(std::memory_order_acquire); }
  /// Any thread may call it; the first reason counts.
  void happen(std::string reason);
  std::string reason() const;

 private:
  std::atomic<bool> happened_{false};
  mutable std::mutex mutex_;
  std::string reason_;
};

class Session : public RefCounted {
 public:
  /// Throws DeviceError if the adapter gives no device.
  Session(const Provider& provider, const Adapter& adapter);
  ~Session() override;

  const Provider& provider() const { return provider_; }
  const Adapter& adapter() const { return adapter_; }
  const Functions& functions() const { return provider_.functions; }
  DeviceHandle device() const { return device_; }
  QueueHandle queue() const { return queue_; }
  /// Calls of WebGPU on this device are made while it is held.
  std::mutex& mutex() const { return mutex_; }

  /// Calls f, which makes objects of WebGPU, and tells what was wrong about that.
  std::optional<Trouble> trouble_of(FunctionRef<void()> f);
  /// Waits until `done` holds, running callbacks meanwhile. Throws DeviceError if the device is lost.
  template <class Done>
  void wait(Done done) {
    for (int turn = 0; !done(); ++turn) {
      {
        const std::lock_guard lock(mutex_);
        provider_.process_events(device_);
      }
      if (done()) return;
      check();
      provider_.pause(turn);
    }
  }
  /// Runs the callbacks that are due, unless another thread is at it.
  void process_events();

  /// Throws DeviceError if the device is lost, or an earlier command had an error, so that its results are useless.
  void check() const;
  bool is_lost() const { return loss_.happened(); }

 private:
  const Provider& provider_;
  const Adapter adapter_;
  DeviceHandle device_ = nullptr;
  QueueHandle queue_ = nullptr;
  mutable std::mutex mutex_;
  Loss& loss_;
};

}  // namespace kiln::webgpu

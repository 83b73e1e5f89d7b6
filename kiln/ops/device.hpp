// Device: where tensors live and run; a small value over a shared Backend.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>

#include "kiln/core/ref.hpp"
#include "kiln/ops/memory.hpp"

namespace kiln {

class Backend;
void retain(const Backend*);
void release(const Backend*);

class Device {
 public:
  Device() = default;  // none
  explicit Device(Ref<Backend> backend, bool autodiff = false);

  /// The machine's processor.
  static Device cpu();
  /// The machine's NVIDIA GPU with that number: parse("cuda:1"). Throws DeviceError, which says what is missing.
  static Device cuda(int index = 0);
  /// The fastest device present; the environment's KILN_DEVICE overrides it. Throws DeviceError where that names no
  /// device.
  static Device best();
  /// One device made of several: each operation runs on one of the parts, and values move between them. A second call
  /// with the same parts makes another device. kiln/backend/router/router.hpp says more. Throws ArgumentError for no
  /// part, or for one that is there twice.
  static Device router(std::initializer_list<Device> parts);
  /// "cpu", "reference", "cuda", "cuda:1", "router:cpu,cuda". Throws DeviceError with the names that exist.
  static Device parse(std::string_view name);

  /// Returns the same device with autodiff: parameters created on it require gradients.
  Device autodiff() const { return with_autodiff(true); }
  /// Returns the same device without autodiff.
  Device inner() const { return with_autodiff(false); }
  bool is_autodiff() const { return autodiff_; }

  /// Where on the device a tensor is, or is to be created; only a device made of parts gives it a meaning. `chosen`: a
  /// program asked for it. Users write router_part(device, 1).
  struct Place {
    std::int16_t part = -1;  // -1: anywhere
    bool chosen = false;
    friend bool operator==(const Place&, const Place&) = default;
  };
  Place place() const { return place_; }
  void set_place(Place place) { place_ = place; }

  /// Restarts the stream of random numbers that dropout and the random functions draw from.
  void seed(std::uint64_t seed) const;
  /// Starts the enqueued work without waiting for it.
  void flush() const;
  /// Waits for all work; throws the device's errors.
  void sync() const;

  MemoryStatistics memory() const;
  /// Sets how much of the system's memory the device may hold from now on. A request beyond it throws a MemoryError,
  /// after which the program may go on with what it has. The initial limit is KILN_MEMORY_LIMIT ("2G", "512M") of the
  /// environment, or seven eighths of the memory of the machine or of the program's control group, whichever is
  /// smaller. Throws ArgumentError for less than 1.
  void set_memory_limit(std::int64_t bytes) const;
  /// Resets memory().peak to the memory in use now.
  void reset_memory_peak() const;
  /// Returns cached memory to the system.
  void release_memory() const;

  std::string name() const;
  Backend& backend() const;
  const Ref<Backend>& handle() const { return backend_; }
  explicit operator bool() const { return static_cast<bool>(backend_); }

  /// Whether both are the same device, autodiff or not, whatever the place.
  friend bool operator==(const Device& a, const Device& b) { return a.backend_ == b.backend_; }

 private:
  Device with_autodiff(bool autodiff) const {
    Device device = *this;
    device.autodiff_ = autodiff;
    return device;
  }

  Ref<Backend> backend_;
  bool autodiff_ = false;
  Place place_;
};

void append(std::string& out, const Device& device);

/// Registers `name` for Device::parse and, where its priority is the highest, for Device::best.
void register_device(std::string_view name, int priority, Device (*make)());
/// Registers a kind of which the machine has `count()` devices, perhaps none: NAME, NAME:1, ... `count` is called only
/// when a device is looked for. `make` may be called with any number, and throws where there is no such device.
void register_devices(std::string_view name, int priority, Device (*make)(int index), int (*count)());

/// The decorators of Kiln's own devices, innermost first: Profile times the kernels that run, Verify checks the kernels
/// that Fusion builds, and VerifyPlans compares the results of Fusion with those of the program itself.
enum class Decoration : std::uint8_t { Profile, Verify, Fusion, VerifyPlans };
/// Wraps all of Kiln's own devices with `wrap`, which may also return its argument. Must be called while the program
/// starts.
void decorate_devices(Decoration place, Ref<Backend> (*wrap)(Ref<Backend>));
/// Returns `backend` wrapped by the decorators that are registered.
Ref<Backend> decorated(Ref<Backend> backend);

}  // namespace kiln

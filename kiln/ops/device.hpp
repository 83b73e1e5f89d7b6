// Device: where tensors live and run; a small value over a shared Backend.
#pragma once
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
  /// The machine's NVIDIA GPU of that number: parse("cuda:1"). Throws DeviceError, which says what is missing.
  static Device cuda(int index = 0);
  /// The fastest device present; the environment's KILN_DEVICE overrides. Throws DeviceError where that names none.
  static Device best();
  /// "cpu", "reference", "cuda", "cuda:1". Throws DeviceError with the names that exist.
  static Device parse(std::string_view name);

  /// The same device; parameters made on it require gradients.
  Device autodiff() const { return Device(backend_, true); }
  /// The same device without that.
  Device inner() const { return Device(backend_, false); }
  bool is_autodiff() const { return autodiff_; }

  /// Restarts the stream of random numbers that dropout and the random functions draw from.
  void seed(std::uint64_t seed) const;
  /// Starts the work that was asked for, without waiting for it.
  void flush() const;
  /// Waits for all work; an error of the device surfaces here.
  void sync() const;

  MemoryStatistics memory() const;
  /// What the device may hold of the system's memory from now on. Who asks for more gets a MemoryError, and may go on
  /// with what there is. At the start: KILN_MEMORY_LIMIT ("2G", "512M") of the environment, or seven eighths of what the
  /// machine has, or the control group that the program runs in. Throws ArgumentError for less than 1.
  void set_memory_limit(std::int64_t bytes) const;
  /// memory().peak starts again from what is in use.
  void reset_memory_peak() const;
  /// Gives memory that is kept for later back to the system.
  void release_memory() const;

  std::string name() const;
  Backend& backend() const;
  const Ref<Backend>& handle() const { return backend_; }
  explicit operator bool() const { return static_cast<bool>(backend_); }

  /// The same place, whether or not either is autodiff.
  friend bool operator==(const Device& a, const Device& b) { return a.backend_ == b.backend_; }

 private:
  Ref<Backend> backend_;
  bool autodiff_ = false;
};

void append(std::string& out, const Device& device);

/// Makes `name` known to Device::parse and, with a higher priority than others, to Device::best.
void register_device(std::string_view name, int priority, Device (*make)());
/// The same of a kind of which the machine has `count()`, perhaps none: NAME, NAME:1, ... Nobody asks before a device is
/// looked for. `make` is asked for any number, and throws where there is no such device.
void register_devices(std::string_view name, int priority, Device (*make)(int index), int (*count)());

/// Where the decorators of first-party devices stand, from the inside out: Profile times the kernels that run, Verify
/// checks those that Fusion makes of a program, and VerifyPlans compares what Fusion gives with the program itself.
enum class Decoration : std::uint8_t { Profile, Verify, Fusion, VerifyPlans };
/// Has every first-party device wrapped by `wrap`, which may also give back what it is given. Called while the program
/// starts.
void decorate_devices(Decoration place, Ref<Backend> (*wrap)(Ref<Backend>));
/// `backend` as a first-party device shows it: wrapped by the decorators that are registered.
Ref<Backend> decorated(Ref<Backend> backend);

}  // namespace kiln

// Device: where tensors live and run; a small value over a shared Backend.
#pragma once
#include <string>
#include <string_view>

#include "kiln/core/ref.hpp"

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
  /// The fastest device present; the environment's KILN_DEVICE overrides. Throws DeviceError where that names none.
  static Device best();
  /// "cpu", "reference". Throws DeviceError with the names that exist.
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

/// Has every first-party device wrapped by `wrap`. Called while the program starts.
void decorate_devices(Ref<Backend> (*wrap)(Ref<Backend>));
/// `backend` as a first-party device shows it: wrapped, if somebody asked for that.
Ref<Backend> decorated(Ref<Backend> backend);

}  // namespace kiln

// How exactly products and convolutions of float32 are computed: a scope of a thread, and a setting of a device.
#pragma once
#include <cstdint>

namespace kiln {

class Device;

/// While this object lives, on this thread: `const Float32Precision fast(Float32Precision::High);`
///
/// It applies to matrix products, convolutions, attention, recurrent layers and user-defined operations with float32
/// operands. An operation remembers the precision under which it was called: its gradients are computed with it, and so
/// are replays of a captured program, checkpointed functions that run again, and fused steps. Scopes nest, and other
/// threads do not see them. Outside of any scope the device's setting counts, when an operation is called; that of a
/// GPU is High where the environment says KILN_TF32=1, and Highest otherwise.
class Float32Precision {
 public:
  enum class Level : std::uint8_t {
    /// Whatever the device is set to; this also ends an outer scope.
    OfDevice,
    /// Operands keep their 24 bits, and sums are float32.
    Highest,
    /// Operands may be rounded to no fewer than 11 bits (TF32), and sums are float32. A device that gains nothing by
    /// that computes as for Highest: CUDA's cuBLASLt and cuDNN use tensor cores, the other devices ignore it.
    High,
  };
  // Not `using enum`: g++ 12 crashes on these names in templates.
  static constexpr Level OfDevice = Level::OfDevice, Highest = Level::Highest, High = Level::High;

  explicit Float32Precision(Level level);
  ~Float32Precision();
  Float32Precision(const Float32Precision&) = delete;
  Float32Precision& operator=(const Float32Precision&) = delete;

  /// The level of this thread's innermost scope; OfDevice: none.
  static Level said();
  /// The setting of a device, Highest or High.
  static Level of(const Device& device);
  /// Sets a device's precision, for all threads, from now on. Throws ArgumentError for OfDevice.
  static void set(const Device& device, Level level);

 private:
  const Level before_;
};

}  // namespace kiln

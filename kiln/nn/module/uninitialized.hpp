// A model without initialized weights, for weights that are loaded from a file.
//
//   Gpt model = load("gpt.safetensors", undrawn(config, device));
#pragma once

namespace kiln {

class Device;

namespace nn {

/// While it lives, layers that are created on this thread have parameters of zeros with their shapes, which use neither
/// random numbers nor memory.
class Uninitialized {
 public:
  Uninitialized();
  ~Uninitialized();
  Uninitialized(const Uninitialized&) = delete;
  Uninitialized& operator=(const Uninitialized&) = delete;
  static bool is_on();

 private:
  bool before_;
};

}  // namespace nn

/// config.init(device) with weights of zeros, to be replaced by loaded ones. It uses no random numbers, so the device's
/// stream is unchanged, and allocates no memory for weights.
template <class Config>
auto uninitialized(const Config& config, const Device& device) {
  const nn::Uninitialized scope;
  return config.init(device);
}
template <class Config>
[[deprecated("undrawn() is now uninitialized()")]] auto undrawn(const Config& config, const Device& device) {
  return uninitialized(config, device);
}

}  // namespace kiln

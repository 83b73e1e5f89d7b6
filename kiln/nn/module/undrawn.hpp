// A model without initialized weights, for weights that are loaded from a file.
//
//   Gpt model = load("gpt.safetensors", undrawn(config, device));
#pragma once

namespace kiln {

class Device;

namespace nn {

/// While it lives, layers that are created on this thread have parameters of zeros with their shapes, which use neither
/// random numbers nor memory.
class Undrawn {
 public:
  Undrawn();
  ~Undrawn();
  Undrawn(const Undrawn&) = delete;
  Undrawn& operator=(const Undrawn&) = delete;
  static bool is_on();

 private:
  bool before_;
};

}  // namespace nn

/// config.init(device) with weights of zeros, to be replaced by loaded ones. It uses no random numbers, so the device's
/// stream is unchanged, and allocates no memory for weights.
template <class Config>
auto undrawn(const Config& config, const Device& device) {
  const nn::Undrawn scope;
  return config.init(device);
}

}  // namespace kiln

// A model without weights, for those of a file.
//
//   Gpt model = load("gpt.safetensors", undrawn(config, device));
#pragma once

namespace kiln {

class Device;

namespace nn {

/// While it lives, layers that are made on this thread have parameters of their shapes, zeros, which took neither random
/// numbers nor memory.
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

/// config.init(device) without the weights, which are zeros: to be loaded over. Nothing is drawn, so the device's stream of
/// random numbers stays where it is, and no memory is taken for what an initializer would fill.
template <class Config>
auto undrawn(const Config& config, const Device& device) {
  const nn::Undrawn scope;
  return config.init(device);
}

}  // namespace kiln

// The devices that the simulated one can be: what each kind of GPU promises, as a row of Capabilities.
#pragma once
#include <span>
#include <string_view>

#include "kiln/backend/gpu/capabilities.hpp"

namespace kiln::gpu {

struct Profile {
  std::string_view name;  // of the device: "simulated:webgpu"
  Capabilities has;
};

/// The first one is "simulated", which is like NVIDIA's.
std::span<const Profile> profiles();

}  // namespace kiln::gpu

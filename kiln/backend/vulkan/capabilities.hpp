// What kernels may use on a device.
#pragma once
#include "kiln/backend/gpu/capabilities.hpp"
#include "kiln/backend/vulkan/context.hpp"

namespace kiln::vulkan {

gpu::Capabilities capabilities_of(const Context& context);

/// What stands behind the first line of every kernel's text: that denormals and NaNs are kept, and halfway cases rounded
/// to even, as far as the device promises it.
std::string float_controls_of(const PhysicalDevice& device);
/// Does that make the driver round float16 to nearest even, and keep its subnormals, infinities and NaN?
bool controls_halves(const PhysicalDevice& device);

}  // namespace kiln::vulkan

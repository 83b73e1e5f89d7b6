// Methods that compute values between elements from the elements around.
#pragma once
#include <cstdint>

namespace kiln {

enum class Interpolation : std::uint8_t {
  Nearest,       // the element at floor(position), as in older libraries
  NearestExact,  // the element whose centre is nearest
  Linear,        // bilinear, trilinear in two and three dimensions
  Cubic,         // Keys' convolution: a = -0.75, or -0.5 with antialiasing
  Lanczos3,      // sinc(x) sinc(x / 3), scaled to a sum of 1
  Area,          // means of nearly equal parts, as in adaptive_avg_pool
};

}  // namespace kiln

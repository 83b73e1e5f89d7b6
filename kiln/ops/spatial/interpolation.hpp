// How values between elements are made of those around them.
#pragma once
#include <cstdint>

namespace kiln {

enum class Interpolation : std::uint8_t {
  Nearest,       // the element at floor(position): as older libraries have it
  NearestExact,  // the element whose centre is nearest
  Linear,        // bilinear, trilinear in two and three dimensions
  Cubic,         // Keys' convolution: a = -0.75, or -0.5 with antialiasing
  Lanczos3,      // sinc(x) sinc(x / 3), scaled to a sum of 1
  Area,          // means of about equal parts, as adaptive_avg_pool has them
};

}  // namespace kiln

// Colour adjustments. Results are those of Pillow's ImageEnhance and ImageOps, up to one step of 255.
#pragma once
#include "kiln/data/picture/picture.hpp"

namespace kiln {

/// A factor of 1 changes nothing; 0 gives black (brightness), grey of the mean brightness (contrast), grey (saturation)
/// or a blurred picture (sharpness); more than 1 does the opposite. These functions and those below throw ShapeError
/// unless there are 1 or 3 channels.
Picture with_brightness(const Picture& picture, double factor);
Picture with_contrast(const Picture& picture, double factor);
Picture with_saturation(const Picture& picture, double factor);
Picture with_sharpness(const Picture& picture, double factor);
/// Rotates hues by a fraction of the whole circle, -0.5 to 0.5: a third turns red into green.
Picture with_hue(const Picture& picture, double turn);

Picture posterized(const Picture& picture, int bits);      // keeps the highest of the eight bits
Picture solarized(const Picture& picture, int threshold);  // inverts values from `threshold` (0 to 256) on
Picture autocontrasted(const Picture& picture);            // stretches each channel to 0 to 255
Picture equalized(const Picture& picture);                 // makes the values of each channel equally frequent

}  // namespace kiln

// Colours of a picture. Figures are those of Pillow's ImageEnhance and ImageOps, within one step of 255.
#pragma once
#include "kiln/data/picture/picture.hpp"

namespace kiln {

/// A factor of 1 changes nothing, 0 gives black (brightness), grey of the mean brightness (contrast), grey (saturation) or a
/// blurred picture (sharpness); more than 1 the contrary. These and those below throw ShapeError for other numbers of
/// channels than 1 and 3.
Picture with_brightness(const Picture& picture, double factor);
Picture with_contrast(const Picture& picture, double factor);
Picture with_saturation(const Picture& picture, double factor);
Picture with_sharpness(const Picture& picture, double factor);
/// Colours turned by so many times the whole circle, -0.5 to 0.5: red, at a third, becomes green.
Picture with_hue(const Picture& picture, double turn);

Picture posterized(const Picture& picture, int bits);      // the highest of the eight bits alone
Picture solarized(const Picture& picture, int threshold);  // values from `threshold` on, 0 to 256, inverted
Picture autocontrasted(const Picture& picture);            // each channel spread from 0 to 255
Picture equalized(const Picture& picture);                 // each channel so that its values are equally frequent

}  // namespace kiln

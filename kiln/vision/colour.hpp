// Converts pictures [batch, 3, height, width], whose channels are red, green and blue, to other colour spaces and back.
// Conversions of floats, from 0 to 1, are differentiable and do not clamp. Bytes, from 0 to 255, have OpenCV's ranges
// and, where a comment says so, its results to the bit. Other integers have no colours: DTypeError.
#pragma once
#include <span>

#include "kiln/vision/pictures.hpp"

namespace kiln::vision {

/// Mixes channels: x [batch, channels, height, width] -> [batch, made, height, width]. Each channel that is made is a
/// weighted sum of the channels of x plus a number. `weights` has a row of channels + 1 numbers for each, the number
/// last. Integers are rounded. Differentiable. Throws ArgumentError for weights that are no such rows.
Value mix_channels(const Value& x, std::span<const double> weights);
template <class K>
Tensor<4, K> mix_channels(const Tensor<4, K>& x, std::span<const double> weights) {
  return Typed{mix_channels(x.value(), weights)};
}

/// Returns one channel: 0.299 red + 0.587 green + 0.114 blue (ITU-R BT.601). Bytes are OpenCV's to the bit.
Value rgb_to_grey(const Value& x);
/// Returns three channels that all are the grey one; of any element type.
Value grey_to_rgb(const Value& x);

/// Hue, saturation, value (Smith, "Color gamut transform pairs", 1978). Hue is 0 to 360 degrees; in bytes it is 0 to
/// 180, and saturation and value are 0 to 255. Bytes are OpenCV's to the bit; the way back differs by at most 1.
Value rgb_to_hsv(const Value& x);
Value hsv_to_rgb(const Value& x);
/// Hue, lightness, saturation in these ranges. Bytes differ from OpenCV's by at most 1.
Value rgb_to_hls(const Value& x);
Value hls_to_rgb(const Value& x);

/// Luma and the differences of blue and red from it (ITU-R BT.601, full range); 0.5 or 128 stands for no difference.
/// OpenCV's order is luma, red, blue. Bytes are OpenCV's to the bit.
Value rgb_to_ycbcr(const Value& x);
Value ycbcr_to_rgb(const Value& x);

/// CIE 1976 L*a*b* of sRGB (IEC 61966-2-1) at white D65: L is 0 to 100. In bytes, L is 0 to 255 and 128 is added to a
/// and b. Bytes differ from OpenCV's by at most 1.
Value rgb_to_lab(const Value& x);
Value lab_to_rgb(const Value& x);

#define KILN_COLOUR(function)                    \
  template <class K>                             \
  Tensor<4, K> function(const Tensor<4, K>& x) { \
    return Typed{function(x.value())};           \
  }
KILN_COLOUR(rgb_to_grey)
KILN_COLOUR(grey_to_rgb)
KILN_COLOUR(rgb_to_hsv)
KILN_COLOUR(hsv_to_rgb)
KILN_COLOUR(rgb_to_hls)
KILN_COLOUR(hls_to_rgb)
KILN_COLOUR(rgb_to_ycbcr)
KILN_COLOUR(ycbcr_to_rgb)
KILN_COLOUR(rgb_to_lab)
KILN_COLOUR(lab_to_rgb)
#undef KILN_COLOUR

}  // namespace kiln::vision

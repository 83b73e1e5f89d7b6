// L*a*b* of sRGB by CIE 15:2004, with exact fractions at the ends of the curve's parts, and sRGB's matrix and white
// point.
#include <cmath>

#include "kiln/core/error/called_as.hpp"
#include "kiln/vision/channels.hpp"
#include "kiln/vision/colour.hpp"

namespace kiln::vision {
namespace {

// The rows give X, Y, Z of red, green and blue; white is (kWhiteX, 1, kWhiteZ).
constexpr double kXyz[3][3] = {
    {0.412453, 0.357580, 0.180423}, {0.212671, 0.715160, 0.072169}, {0.019334, 0.119193, 0.950227}};
constexpr double kRgb[3][3] = {
    {3.240479, -1.537150, -0.498535}, {-0.969256, 1.875992, 0.041556}, {0.055648, -0.204043, 1.057311}};
constexpr double kWhiteX = 0.950456, kWhiteZ = 1.088754;
constexpr double kDelta = 6.0 / 29, kLowest = kDelta * kDelta * kDelta;

Three times(const double (&matrix)[3][3], const Three& x) {
  const auto row = [&](const double(&weights)[3]) { return x.a * weights[0] + x.b * weights[1] + x.c * weights[2]; };
  return {row(matrix[0]), row(matrix[1]), row(matrix[2])};
}

/// Returns powers of numbers clamped from below to `lowest`, so that no gradient is infinite where another formula
/// applies.
Value power(const Value& x, double lowest, double exponent) { return pow(maximum(x, lowest), exponent); }

Value linear_of(const Value& x) {
  return where(le(x, 0.04045), x * (1 / 12.92), power((x + 0.055) * (1 / 1.055), 0.09, 2.4));
}
Value gamma_of(const Value& x) {
  return where(le(x, 0.0031308), x * 12.92, power(x, 0.0031308, 1 / 2.4) * 1.055 - 0.055);
}
Value curve_of(const Value& x) {
  return where(le(x, kLowest), x * (1 / (3 * kDelta * kDelta)) + 4.0 / 29, power(x, kLowest, 1.0 / 3));
}
Value curve_back(const Value& x) { return where(le(x, kDelta), (x - 4.0 / 29) * (3 * kDelta * kDelta), cube(x)); }

}  // namespace

Value rgb_to_lab(const Value& x) {
  const CalledAs named("rgb_to_lab");
  require_colours("rgb_to_lab", x);
  const double middle = x.dtype() == DType::U8 ? 128 : 0, lightness = x.dtype() == DType::U8 ? 2.55 : 1;
  return converted(x,
                   [&](const Three& rgb) {
                     const Three xyz = times(kXyz, {linear_of(rgb.a), linear_of(rgb.b), linear_of(rgb.c)});
                     const Value fx = curve_of(xyz.a * (1 / kWhiteX)), fy = curve_of(xyz.b),
                                 fz = curve_of(xyz.c * (1 / kWhiteZ));
                     return Three((fy * 116 - 16) * lightness, (fx - fy) * 500 + middle, (fy - fz) * 200 + middle);
                   },
                   kFromBytes, {1, 1, 1});
}

Value lab_to_rgb(const Value& x) {
  const CalledAs named("lab_to_rgb");
  require_colours("lab_to_rgb", x);
  const double middle = x.dtype() == DType::U8 ? 128 : 0;
  return converted(
      x,
      [&](const Three& lab) {
        const Value fy = (lab.a + 16) * (1.0 / 116);
        const Value fx = fy + (lab.b - middle) * (1.0 / 500), fz = fy - (lab.c - middle) * (1.0 / 200);
        const Three rgb = times(kRgb, {curve_back(fx) * kWhiteX, curve_back(fy), curve_back(fz) * kWhiteZ});
        return Three(gamma_of(rgb.a), gamma_of(rgb.b), gamma_of(rgb.c));
      },
      {1 / 2.55, 1, 1}, kToBytes);
}

}  // namespace kiln::vision

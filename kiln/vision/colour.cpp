// Conversions to grey, hue and luma. Those to L*a*b* are in colour_lab.cpp.
#include "kiln/vision/colour.hpp"

#include <cmath>

#include "kiln/core/error/called_as.hpp"
#include "kiln/vision/channels.hpp"

namespace kiln::vision {
namespace {

/// Returns the sum of products of int32 with weights in steps of 2^-bits, rounded to the nearest.
Value fixed_sum(const Values& channels, std::initializer_list<int> weights, int bits) {
  Value sum;
  std::size_t i = 0;
  for (const int weight : weights) {
    const Value term = channels[i++] * weight;
    sum = sum ? sum + term : term;
  }
  return shift_right(sum + (1 << (bits - 1)), bits);
}

/// Clamps int32 to bytes.
Value bytes_of(const Value& x) { return cast(clamp(x, 0, 255), DType::U8); }

/// Luma of red, green and blue.
constexpr double kRed = 0.299, kGreen = 0.587, kBlue = 0.114;
constexpr double kLuma[] = {kRed, kGreen, kBlue, 0};

struct Extremes {
  Value largest, smallest, range;
  explicit Extremes(const Three& x)
      : largest(maximum(maximum(x.a, x.b), x.c)),
        smallest(minimum(minimum(x.a, x.b), x.c)),
        range(largest - smallest) {}
};

/// Returns the hue in degrees from 0 to 360; 0 where the channels are equal.
Value hue_of(const Three& x, const Extremes& ends) {
  const Value sixth = 60 / where(eq(ends.range, 0), 1.0, ends.range);
  const Value hue = where(eq(ends.largest, x.a), (x.b - x.c) * sixth,
                          where(eq(ends.largest, x.b), (x.c - x.a) * sixth + 120, (x.a - x.b) * sixth + 240));
  return where(lt(hue, 0), hue + 360, hue);
}

/// Returns x / y, and 0 where y is 0.
Value share(const Value& x, const Value& y) {
  const Value none = eq(y, 0);
  return where(none, 0.0, x / where(none, 1.0, y));
}

constexpr std::array<double, 3> kHueFromBytes = {2, 1.0 / 255, 1.0 / 255}, kHueToBytes = {0.5, 255, 255};

/// Returns how much a colour of this hue has of the channel whose own hue is about 60 (`n` + 1) degrees: a trapezoid
/// from 0 to 1.
Value trapezoid(const Value& hue, double n) {
  const Value place = remainder(hue * (1.0 / 60) + n, 6);
  return clamp(minimum(place, 4 - place), 0.0, 1.0);
}

}  // namespace

Value rgb_to_grey(const Value& x) {
  constexpr std::string_view name = "rgb_to_grey";
  const CalledAs named("rgb_to_grey");
  require_colours(name, x);
  if (x.dtype() == DType::U8) {
    const Three wide(cast(x, DType::I32));
    return bytes_of(fixed_sum({wide.a, wide.b, wide.c}, {9798, 19235, 3735}, 15));
  }
  return mix_channels(x, kLuma);
}

Value grey_to_rgb(const Value& x) {
  require_channels("grey_to_rgb", x, 1);
  return cat(Values{x, x, x}, 1);
}

// ---- hue, saturation, value ----------------------------------------------------------------------------------------

namespace {

/// Converts bytes by tables of quotients in steps of 2^-12, as OpenCV does.
Value bytes_to_hsv(const Value& x) {
  std::vector<std::int32_t> of_255(256), of_30(256);  // the factors of a difference
  for (int i = 1; i < 256; ++i) {
    of_255[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(std::lround(255.0 * 4096 / i));
    of_30[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(std::lround(30.0 * 4096 / i));
  }
  const Three wide(cast(x, DType::I32));
  const Extremes ends(wide);
  const auto looked_up = [&](const std::vector<std::int32_t>& table, const Value& index) {
    return select(from_data(TensorData::of<std::int32_t>({256}, table), x.device()), 0, cast(index, DType::I64));
  };
  const Value sixths =
      where(eq(ends.largest, wide.a), wide.b - wide.c,
            where(eq(ends.largest, wide.b), wide.c - wide.a + ends.range * 2, wide.a - wide.b + ends.range * 4));
  const Value hue = fixed_sum({sixths * looked_up(of_30, ends.range)}, {1}, 12);
  const Value saturation = fixed_sum({ends.range * looked_up(of_255, ends.largest)}, {1}, 12);
  return bytes_of(Three(where(lt(hue, 0), hue + 180, hue), saturation, ends.largest).joined());
}

}  // namespace

Value rgb_to_hsv(const Value& x) {
  const CalledAs named("rgb_to_hsv");
  require_colours("rgb_to_hsv", x);
  if (x.dtype() == DType::U8) return bytes_to_hsv(x);
  return converted(
      x,
      [](const Three& rgb) {
        const Extremes ends(rgb);
        return Three(hue_of(rgb, ends), share(ends.range, ends.largest), ends.largest);
      },
      kFromBytes, kHueToBytes);
}

Value hsv_to_rgb(const Value& x) {
  const CalledAs named("hsv_to_rgb");
  require_colours("hsv_to_rgb", x);
  return converted(
      x,
      [](const Three& hsv) {
        const Value chroma = hsv.b * hsv.c;
        const auto channel = [&](double n) { return hsv.c - chroma * trapezoid(hsv.a, n); };
        return Three(channel(5), channel(3), channel(1));
      },
      kHueFromBytes, kToBytes);
}

// ---- hue, lightness, saturation ------------------------------------------------------------------------------------

Value rgb_to_hls(const Value& x) {
  const CalledAs named("rgb_to_hls");
  require_colours("rgb_to_hls", x);
  return converted(
      x,
      [](const Three& rgb) {
        const Extremes ends(rgb);
        const Value both = ends.largest + ends.smallest;
        return Three(hue_of(rgb, ends), both * 0.5, share(ends.range, minimum(both, 2 - both)));
      },
      kFromBytes, kHueToBytes);
}

Value hls_to_rgb(const Value& x) {
  const CalledAs named("hls_to_rgb");
  require_colours("hls_to_rgb", x);
  return converted(
      x,
      [](const Three& hls) {
        const Value reach = hls.c * minimum(hls.b, 1 - hls.b);
        const auto channel = [&](double n) { return hls.b + reach - 2 * reach * trapezoid(hls.a, n); };
        return Three(channel(5), channel(3), channel(1));
      },
      kHueFromBytes, kToBytes);
}

// ---- luma ----------------------------------------------------------------------------------------------------------

Value rgb_to_ycbcr(const Value& x) {
  const CalledAs named("rgb_to_ycbcr");
  require_colours("rgb_to_ycbcr", x);
  if (x.dtype() == DType::U8) {
    const Three rgb(cast(x, DType::I32));
    const Value luma = fixed_sum({rgb.a, rgb.b, rgb.c}, {4899, 9617, 1868}, 14);
    const Value blue = fixed_sum({rgb.c - luma}, {9241}, 14) + 128, red = fixed_sum({rgb.a - luma}, {11682}, 14) + 128;
    return bytes_of(Three(luma, blue, red).joined());
  }
  // How much a difference from luma counts, which is 0.5 where there is none.
  constexpr double kOfBlue = 0.564, kOfRed = 0.713;
  constexpr double kWeights[] = {kRed,
                                 kGreen,
                                 kBlue,
                                 0,  //
                                 -kRed * kOfBlue,
                                 -kGreen * kOfBlue,
                                 (1 - kBlue) * kOfBlue,
                                 0.5,  //
                                 (1 - kRed) * kOfRed,
                                 -kGreen * kOfRed,
                                 -kBlue * kOfRed,
                                 0.5};
  return mix_channels(x, kWeights);
}

Value ycbcr_to_rgb(const Value& x) {
  const CalledAs named("ycbcr_to_rgb");
  require_colours("ycbcr_to_rgb", x);
  if (x.dtype() == DType::U8) {
    const Three wide(cast(x, DType::I32));
    const Value blue = wide.b - 128, red = wide.c - 128;
    return bytes_of(Three(wide.a + fixed_sum({red}, {22987}, 14), wide.a + fixed_sum({blue, red}, {-5636, -11698}, 14),
                          wide.a + fixed_sum({blue}, {29049}, 14))
                        .joined());
  }
  constexpr double kWeights[] = {1, 0,      1.403,  -0.5 * 1.403,           //
                                 1, -0.344, -0.714, 0.5 * (0.344 + 0.714),  //
                                 1, 1.773,  0,      -0.5 * 1.773};
  return mix_channels(x, kWeights);
}

}  // namespace kiln::vision

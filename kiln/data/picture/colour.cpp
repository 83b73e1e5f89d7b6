#include "kiln/data/picture/colour.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "kiln/core/error/error.hpp"

namespace kiln {
namespace {

void require_colours(std::string_view function, const Picture& picture) {
  require_sound(function, picture);
  require<ShapeError>(picture.channels == 1 || picture.channels == 3, function, ": a picture of ", picture.channels,
                      " channels is neither grey nor coloured");
}

void require_factor(std::string_view function, double factor) {
  require<ArgumentError>(factor >= 0 && std::isfinite(factor), function, ": the factor ", factor, " must be 0 or more");
}

std::uint8_t to_byte(double value) { return static_cast<std::uint8_t>(std::clamp(value + 0.5, 0.5, 255.5)); }

/// other + factor * (picture - other), where other(i) is the value that belongs to the picture's value i.
template <class Other>
Picture blended(const Picture& picture, double factor, Other other) {
  Picture result = picture;
  for (std::size_t i = 0; i < result.pixels.size(); ++i) {
    const double base = static_cast<double>(other(i));
    result.pixels[i] = to_byte(base + factor * (static_cast<double>(picture.pixels[i]) - base));
  }
  return result;
}

using Table = std::array<std::uint8_t, 256>;
using Counts = std::array<std::int64_t, 256>;

/// Maps each channel by a table that `make` computes from its histogram.
template <class Make>
Picture by_channel(const Picture& picture, Make make) {
  Picture result = picture;
  const auto channels = static_cast<std::size_t>(picture.channels);
  for (std::size_t channel = 0; channel < channels; ++channel) {
    Counts counts{};
    for (std::size_t i = channel; i < picture.pixels.size(); i += channels) ++counts[picture.pixels[i]];
    const Table table = make(counts);
    for (std::size_t i = channel; i < picture.pixels.size(); i += channels) result.pixels[i] = table[picture.pixels[i]];
  }
  return result;
}

template <class Function>
Table table_of(Function function) {
  Table table;
  for (int i = 0; i < 256; ++i) table[static_cast<std::size_t>(i)] = function(i);
  return table;
}

}  // namespace

Picture with_brightness(const Picture& picture, double factor) {
  require_colours("with_brightness", picture);
  require_factor("with_brightness", factor);
  return blended(picture, factor, [](std::size_t) { return 0; });
}

Picture with_contrast(const Picture& picture, double factor) {
  require_factor("with_contrast", factor);
  const Picture grey = grey_of(picture);
  double sum = 0;
  for (const auto value : grey.pixels) sum += value;
  const double mean = std::floor(sum / static_cast<double>(grey.pixels.size()) + 0.5);
  return blended(picture, factor, [mean](std::size_t) { return mean; });
}

Picture with_saturation(const Picture& picture, double factor) {
  require_factor("with_saturation", factor);
  const Picture grey = grey_of(picture);
  const auto channels = static_cast<std::size_t>(picture.channels);
  return blended(picture, factor, [&](std::size_t i) { return grey.pixels[i / channels]; });
}

Picture with_sharpness(const Picture& picture, double factor) {
  require_colours("with_sharpness", picture);
  require_factor("with_sharpness", factor);
  Picture smooth = picture;  // a pixel has weight five, its eight neighbours one; the border is unchanged
  for (std::int64_t y = 1; y + 1 < picture.height; ++y) {
    for (std::int64_t x = 1; x + 1 < picture.width; ++x) {
      for (std::int64_t channel = 0; channel < picture.channels; ++channel) {
        int sum = 4 * picture.at(y, x)[channel];
        for (std::int64_t dy = -1; dy <= 1; ++dy)
          for (std::int64_t dx = -1; dx <= 1; ++dx) sum += picture.at(y + dy, x + dx)[channel];
        smooth.at(y, x)[channel] = to_byte(sum / 13.0);
      }
    }
  }
  return blended(picture, factor, [&](std::size_t i) { return smooth.pixels[i]; });
}

Picture with_hue(const Picture& picture, double turn) {
  require_colours("with_hue", picture);
  require<ArgumentError>(turn >= -0.5 && turn <= 0.5, "with_hue: the shift ", turn, " must lie between -0.5 and 0.5");
  if (picture.channels == 1) return picture;
  Picture result = picture;
  for (std::size_t i = 0; i < result.pixels.size(); i += 3) {
    std::uint8_t* rgb = &result.pixels[i];
    const double most = std::max({rgb[0], rgb[1], rgb[2]}), least = std::min({rgb[0], rgb[1], rgb[2]}),
                 span = most - least;
    if (span == 0) continue;
    // Sixths of the colour circle, from red on (Smith, "Color gamut transform pairs", SIGGRAPH 1978).
    double hue = most == rgb[0]   ? (rgb[1] - rgb[2]) / span
                 : most == rgb[1] ? 2 + (rgb[2] - rgb[0]) / span
                                  : 4 + (rgb[0] - rgb[1]) / span;
    hue = std::fmod(hue + 6 * turn + 12, 6);
    for (int channel = 0; channel < 3; ++channel) {
      const double k = std::fmod((channel == 0 ? 5 : channel == 1 ? 3 : 1) + hue, 6);
      rgb[channel] = to_byte(most - span * std::clamp(std::min(k, 4 - k), 0.0, 1.0));
    }
  }
  return result;
}

Picture posterized(const Picture& picture, int bits) {
  require_colours("posterized", picture);
  require<ArgumentError>(bits >= 1 && bits <= 8, "posterized: ", bits, " bits must be 1 to 8");
  return by_channel(picture, [bits](const Counts&) {
    return table_of([bits](int i) { return static_cast<std::uint8_t>(i >> (8 - bits) << (8 - bits)); });
  });
}

Picture solarized(const Picture& picture, int threshold) {
  require_colours("solarized", picture);
  require<ArgumentError>(threshold >= 0 && threshold <= 256, "solarized: the threshold ", threshold,
                         " must be 0 to 256");
  return by_channel(picture, [threshold](const Counts&) {
    return table_of([threshold](int i) { return static_cast<std::uint8_t>(i < threshold ? i : 255 - i); });
  });
}

Picture autocontrasted(const Picture& picture) {
  require_colours("autocontrasted", picture);
  return by_channel(picture, [](const Counts& counts) {
    const auto used = [](std::int64_t count) { return count > 0; };
    const auto low = std::ranges::find_if(counts, used) - counts.begin();
    const auto high = 255 - (std::find_if(counts.rbegin(), counts.rend(), used) - counts.rbegin());
    return table_of([&](int i) {
      if (high <= low) return static_cast<std::uint8_t>(i);
      return static_cast<std::uint8_t>(
          std::clamp((i - static_cast<double>(low)) * 255.0 / static_cast<double>(high - low), 0.0, 255.0));
    });
  });
}

Picture equalized(const Picture& picture) {
  require_colours("equalized", picture);
  return by_channel(picture, [](const Counts& counts) {
    std::int64_t total = 0, last = 0, kinds = 0;
    for (const auto count : counts) {
      if (count == 0) continue;
      total += count;
      last = count;
      ++kinds;
    }
    const std::int64_t step = (total - last) / 255;
    std::int64_t below = step / 2;
    return table_of([&](int i) {
      if (kinds <= 1 || step == 0) return static_cast<std::uint8_t>(i);
      const auto value = static_cast<std::uint8_t>(std::min<std::int64_t>(below / step, 255));
      below += counts[static_cast<std::size_t>(i)];
      return value;
    });
  });
}

}  // namespace kiln

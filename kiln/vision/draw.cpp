#include "kiln/vision/draw.hpp"

#include <algorithm>
#include <cmath>

#include "kiln/core/error/error.hpp"

namespace kiln::vision {
namespace {

void require_drawable(std::string_view name, const Picture& picture) {
  require_sound(name, picture);
  require<ShapeError>(picture.channels == 1 || picture.channels == 3, name, ": a picture of ", picture.channels,
                      " channels; there must be 1 or 3");
}

void require_scale(std::string_view name, std::string_view what, double number) {
  require<ArgumentError>(number >= 1 && number <= 1000, name, ": ", what, " = ", number, " is not from 1 to 1000");
}

/// Returns a colour as the bytes of a picture's channels.
std::array<std::uint8_t, 3> bytes_of(const Picture& picture, const Colour& colour) {
  if (picture.channels == 3) return {colour.red, colour.green, colour.blue};
  const int grey = (9798 * colour.red + 19235 * colour.green + 3735 * colour.blue + (1 << 14)) >> 15;
  return {static_cast<std::uint8_t>(grey), 0, 0};
}

/// Returns the pixels, from `begin` to `end`, whose centres lie between two positions of a line of `size` pixels; none
/// where a position is NaN.
struct Pixels {
  std::int64_t begin = 0, end = 0;
};
Pixels pixels_between(double from, double to, std::int64_t size) {
  if (!(from < to)) return {};
  const auto first = [&](double at) {
    return static_cast<std::int64_t>(std::ceil(std::clamp(at - 0.5, 0.0, static_cast<double>(size))));
  };
  return {first(from), first(to)};
}

struct Extent {
  double x1, y1, x2, y2;
};

/// Fills the pixels within an extent for whose centres (x, y) `contains` returns true.
template <class Contains>
void fill(Picture& picture, const Extent& around, const Colour& colour, Contains contains) {
  const auto bytes = bytes_of(picture, colour);
  const Pixels rows = pixels_between(around.y1, around.y2, picture.height);
  const Pixels columns = pixels_between(around.x1, around.x2, picture.width);
  for (std::int64_t row = rows.begin; row < rows.end; ++row)
    for (std::int64_t column = columns.begin; column < columns.end; ++column)
      if (contains(static_cast<double>(column) + 0.5, static_cast<double>(row) + 0.5))
        std::copy_n(bytes.begin(), picture.channels, picture.at(row, column));
}

bool is_finite(const Position& p) { return std::isfinite(p.x) && std::isfinite(p.y); }

Extent around(const Position& a, const Position& b, double reach) {
  return {std::min(a.x, b.x) - reach - 1, std::min(a.y, b.y) - reach - 1, std::max(a.x, b.x) + reach + 1,
          std::max(a.y, b.y) + reach + 1};
}

void draw_line(Picture& picture, const Position& a, const Position& b, double thickness, const Colour& colour) {
  const double dx = b.x - a.x, dy = b.y - a.y, squared = dx * dx + dy * dy, reach = thickness / 2;
  fill(picture, around(a, b, reach), colour, [&](double x, double y) {
    const double along = squared > 0 ? std::clamp(((x - a.x) * dx + (y - a.y) * dy) / squared, 0.0, 1.0) : 0;
    return std::hypot(x - a.x - along * dx, y - a.y - along * dy) <= reach;
  });
}

void draw_disc(Picture& picture, const Position& middle, double radius, const Colour& colour) {
  fill(picture, around(middle, middle, radius), colour,
       [&](double x, double y) { return std::hypot(x - middle.x, y - middle.y) <= radius; });
}

}  // namespace

Colour colour_of(std::int64_t number) {
  // These are twenty colours in two brightnesses; the hues of neighbours are far apart.
  constexpr std::int64_t kColours = 20;
  const std::int64_t place = (number % kColours + kColours) % kColours;
  const double hue = static_cast<double>(place * 7 % kColours) / kColours * 6, value = place % 2 == 0 ? 255 : 190;
  const auto channel = [&](double n) {
    const double k = std::fmod(n + hue, 6.0);
    return static_cast<std::uint8_t>(std::lround(value * (1 - 0.85 * std::clamp(std::min(k, 4 - k), 0.0, 1.0))));
  };
  return {channel(5), channel(3), channel(1)};
}

void fill_rectangle(Picture& picture, double x1, double y1, double x2, double y2, const Colour& colour) {
  require_drawable("fill_rectangle", picture);
  fill(picture, {x1, y1, x2, y2}, colour, [](double, double) { return true; });
}

Picture draw_boxes(Picture picture, std::span<const DrawnBox> boxes, const DrawBoxes& options) {
  constexpr std::string_view name = "draw_boxes";
  require_drawable(name, picture);
  require_scale(name, "thickness", static_cast<double>(options.thickness));
  require_scale(name, "scale", static_cast<double>(options.scale));
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    const DrawnBox& box = boxes[i];
    if (!(box.x1 < box.x2 && box.y1 < box.y2)) continue;
    const Colour colour = box.colour.value_or(colour_of(static_cast<std::int64_t>(i)));
    const auto thick = static_cast<double>(options.thickness);
    const double right = std::max(box.x2 - thick, box.x1), left = std::min(box.x1 + thick, box.x2);
    fill_rectangle(picture, box.x1, box.y1, box.x2, std::min(box.y1 + thick, box.y2), colour);
    fill_rectangle(picture, box.x1, std::max(box.y2 - thick, box.y1), box.x2, box.y2, colour);
    fill_rectangle(picture, box.x1, box.y1, left, box.y2, colour);
    fill_rectangle(picture, right, box.y1, box.x2, box.y2, colour);
    if (box.label.empty()) continue;
    // The label is black or white, whichever contrasts more, on a background of the box's colour.
    const TextSize size = text_size(box.label, options.scale);
    const auto width = static_cast<double>(size.width + 2 * options.scale), height = static_cast<double>(size.height);
    const double top = box.y1 >= height ? box.y1 - height : box.y1;
    const bool is_bright = 299 * colour.red + 587 * colour.green + 114 * colour.blue > 128'000;
    fill_rectangle(picture, box.x1, top, box.x1 + width, top + height, colour);
    const std::uint8_t ink = is_bright ? 0 : 255;
    picture = draw_text(std::move(picture), box.label, box.x1 + static_cast<double>(options.scale),
                        top + static_cast<double>(options.scale), {ink, ink, ink}, options.scale);
  }
  return picture;
}

Picture draw_masks(Picture picture, std::span<const std::vector<std::uint8_t>> masks, double opacity,
                   std::span<const Colour> colours) {
  constexpr std::string_view name = "draw_masks";
  require_drawable(name, picture);
  require<ArgumentError>(opacity >= 0 && opacity <= 1, name, ": the opacity ", opacity, " is not from 0 to 1");
  const std::int64_t pixels = picture.height * picture.width;
  for (std::size_t i = 0; i < masks.size(); ++i) {
    require<ShapeError>(std::ssize(masks[i]) == pixels, name, ": mask ", i, " has ", masks[i].size(),
                        " pixels, the picture ", pixels);
    const auto bytes = bytes_of(picture, i < colours.size() ? colours[i] : colour_of(static_cast<std::int64_t>(i)));
    for (std::int64_t pixel = 0; pixel < pixels; ++pixel) {
      if (!masks[i][static_cast<std::size_t>(pixel)]) continue;
      std::uint8_t* to = &picture.pixels[static_cast<std::size_t>(pixel * picture.channels)];
      for (std::size_t c = 0; c < static_cast<std::size_t>(picture.channels); ++c)
        to[c] = static_cast<std::uint8_t>(
            std::lround(std::lerp(static_cast<double>(to[c]), static_cast<double>(bytes[c]), opacity)));
    }
  }
  return picture;
}

Picture draw_keypoints(Picture picture, std::span<const Position> keypoints, const DrawKeypoints& options) {
  constexpr std::string_view name = "draw_keypoints";
  require_drawable(name, picture);
  require<ArgumentError>(
      options.radius >= 0 && options.radius <= 1e6 && options.thickness >= 0 && options.thickness <= 1e6, name,
      ": radius = ", options.radius, " and thickness = ", options.thickness, " must be from 0 to 10^6");
  const auto colour = [&](std::size_t i) { return options.colour.value_or(colour_of(static_cast<std::int64_t>(i))); };
  for (const auto& [from, to] : options.bones) {
    require<IndexError>(from < keypoints.size() && to < keypoints.size(), name, ": there are ", keypoints.size(),
                        " keypoints, and a bone joins ", from, " and ", to);
    if (is_finite(keypoints[from]) && is_finite(keypoints[to]))
      draw_line(picture, keypoints[from], keypoints[to], options.thickness, colour(from));
  }
  for (std::size_t i = 0; i < keypoints.size(); ++i)
    if (is_finite(keypoints[i])) draw_disc(picture, keypoints[i], options.radius, colour(i));
  return picture;
}

// ---- text ----------------------------------------------------------------------------------------------------------

namespace {

constexpr std::int64_t kLine = 12;  // pixels from a line to the next

/// Returns the part of a text that the font can show.
std::string printable(std::string_view text) {
  constexpr std::size_t kMost = 1 << 16;
  require<ArgumentError>(text.size() <= kMost, "draw_text: a text of ", text.size(), " bytes; it has at most ", kMost);
  std::string result(text);
  for (char& c : result)
    if (c != '\n' && (c < ' ' || c > '~')) c = '?';
  return result;
}

}  // namespace

Picture draw_text(Picture picture, std::string_view text, double x, double y, const Colour& colour,
                  std::int64_t scale) {
  require_drawable("draw_text", picture);
  require_scale("draw_text", "scale", static_cast<double>(scale));
  const auto times = static_cast<double>(scale);
  for (const Quad& quad : quads_of(printable(text)))
    fill_rectangle(picture, x + times * static_cast<double>(quad.x1), y + times * static_cast<double>(quad.y1),
                   x + times * static_cast<double>(quad.x2), y + times * static_cast<double>(quad.y2), colour);
  return picture;
}

TextSize text_size(std::string_view text, std::int64_t scale) {
  require_scale("text_size", "scale", static_cast<double>(scale));
  TextSize size{0, kLine * (1 + std::count(text.begin(), text.end(), '\n'))};
  for (const Quad& quad : quads_of(printable(text)))
    size.width = std::max(size.width, static_cast<std::int64_t>(std::ceil(quad.x2)));
  return {size.width * scale, size.height * scale};
}

}  // namespace kiln::vision

// Draws into pictures of bytes, for people to look at. Each function returns the changed picture; parts that lie
// outside of it are left out. Positions are those of pictures.hpp. Pictures have one channel or three.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kiln/picture/picture.hpp"
#include "kiln/vision/transform2d.hpp"

namespace kiln::vision {

struct Colour {
  std::uint8_t red = 0, green = 0, blue = 0;  // in a grey picture its grey is used, as by rgb_to_grey
};
/// Returns colours that are easy to tell apart, one for each number; they repeat after 20.
Colour colour_of(std::int64_t number);

struct DrawnBox {
  double x1 = 0, y1 = 0, x2 = 0, y2 = 0;
  std::string label{};             // above the box, or inside it if there is no space above
  std::optional<Colour> colour{};  // none: the colour of the box's number
};
struct DrawBoxes {
  std::int64_t thickness = 2;  // of the outline, inside the box, in pixels
  std::int64_t scale = 1;      // of labels
};
/// Draws the outlines and labels of boxes, except boxes that are upside down or NaN. Throws ArgumentError for a
/// thickness or a scale that is not 1 to 1000.
Picture draw_boxes(Picture picture, std::span<const DrawnBox> boxes, const DrawBoxes& options = {});

/// Blends masks of the picture's size, one after the other, into the picture: where a mask is not 0, its colour is
/// mixed with the picture by `opacity`, 0 to 1. Throws ShapeError for a mask with another number of pixels.
Picture draw_masks(Picture picture, std::span<const std::vector<std::uint8_t>> masks, double opacity = 0.5,
                   std::span<const Colour> colours = {});

struct DrawKeypoints {
  double radius = 2;                                         // of each disc, in pixels
  std::vector<std::pair<std::size_t, std::size_t>> bones{};  // pairs of keypoints that a line joins
  double thickness = 1;                                      // of lines
  std::optional<Colour> colour{};                            // none: the colour of each keypoint's number
};
/// Draws keypoints and bones, except keypoints that are not finite and lines to them. Throws IndexError for a bone that
/// names a keypoint that does not exist.
Picture draw_keypoints(Picture picture, std::span<const Position> keypoints, const DrawKeypoints& options = {});

/// Writes printable ASCII in a bitmap font (stb_easy_font) with lines of 12 pixels, whose top left corner is at (x, y).
/// Other characters become question marks. Throws ArgumentError if Kiln was built without the font, or for a scale that
/// is not 1 to 1000.
Picture draw_text(Picture picture, std::string_view text, double x, double y, const Colour& colour = {},
                  std::int64_t scale = 1);
struct TextSize {
  std::int64_t width = 0, height = 0;
};
/// Returns the size of a text in pixels. Throws like draw_text().
TextSize text_size(std::string_view text, std::int64_t scale = 1);

// ---- what they are made of -----------------------------------------------------------------------------------------
/// Fills the pixels whose centres lie in a rectangle with `colour`.
void fill_rectangle(Picture& picture, double x1, double y1, double x2, double y2, const Colour& colour);

/// A rectangle, one of those that form a text, relative to the text's corner, at scale 1.
struct Quad {
  float x1, y1, x2, y2;
};
std::vector<Quad> quads_of(const std::string& text);
bool has_font();

}  // namespace kiln::vision

// Drawing into pictures of bytes, for people to look at. Each function returns the picture with what was drawn; what lies outside
// of it is left out. Positions are those of pictures.hpp. Pictures have one channel or three.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kiln/picture/picture.hpp"
#include "kiln/vision/transform2d.hpp"

namespace kiln::vision {

struct Colour {
  std::uint8_t red = 0, green = 0, blue = 0;  // a grey picture gets the grey of it, as rgb_to_grey has it
};
/// Colours that differ well, one for each number; number 0 and 20 have the same.
Colour colour_of(std::int64_t number);

struct DrawnBox {
  double x1 = 0, y1 = 0, x2 = 0, y2 = 0;
  std::string label{};             // above the box, or inside where there is no room
  std::optional<Colour> colour{};  // none: that of the box's number
};
struct DrawBoxes {
  std::int64_t thickness = 2;  // of the outline, inside the box, in pixels
  std::int64_t scale = 1;      // of labels
};
/// A box that is upside down or NaN is not drawn. Throws ArgumentError for a thickness or a scale that is not 1 to 1000.
Picture draw_boxes(Picture picture, std::span<const DrawnBox> boxes, const DrawBoxes& options = {});

/// Masks of the picture's size, one after the other, each set where it is not 0; mixed with the picture by `opacity`, 0 to 1.
/// Throws ShapeError where a mask has another number of pixels.
Picture draw_masks(Picture picture, std::span<const std::vector<std::uint8_t>> masks, double opacity = 0.5,
                   std::span<const Colour> colours = {});

struct DrawKeypoints {
  double radius = 2;                                         // of each disc, in pixels
  std::vector<std::pair<std::size_t, std::size_t>> bones{};  // pairs of keypoints that a line joins
  double thickness = 1;                                      // of lines
  std::optional<Colour> colour{};                            // none: that of each keypoint's number
};
/// A keypoint that is not finite is not drawn, nor lines to it. Throws IndexError for a bone of keypoints that there are not.
Picture draw_keypoints(Picture picture, std::span<const Position> keypoints, const DrawKeypoints& options = {});

/// Printable ASCII in a bitmap font 12 pixels high for each line (stb_easy_font), whose top left corner is at (x, y). Other
/// characters are question marks. Throws ArgumentError where Kiln was built without the font, or for a scale that is not 1 to 1000.
Picture draw_text(Picture picture, std::string_view text, double x, double y, const Colour& colour = {},
                  std::int64_t scale = 1);
struct TextSize {
  std::int64_t width = 0, height = 0;
};
/// In pixels. Throws as above.
TextSize text_size(std::string_view text, std::int64_t scale = 1);

// ---- what they are made of -----------------------------------------------------------------------------------------
/// The pixels whose middles lie in a rectangle become `colour`.
void fill_rectangle(Picture& picture, double x1, double y1, double x2, double y2, const Colour& colour);

/// A rectangle that a text is made of, relative to the text's corner, at scale 1.
struct Quad {
  float x1, y1, x2, y2;
};
std::vector<Quad> quads_of(const std::string& text);
bool has_font();

}  // namespace kiln::vision

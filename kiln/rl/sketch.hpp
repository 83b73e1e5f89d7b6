// Draws simple shapes with smooth edges into a colour picture, for the pictures of environments.
#pragma once
#include <cstdint>

#include "kiln/picture/picture.hpp"

namespace kiln::rl {

struct Colour {
  std::uint8_t red, green, blue;
};
inline constexpr Colour kWhite{255, 255, 255}, kBlack{0, 0, 0}, kGrey{150, 150, 150}, kBlue{90, 120, 190},
    kGold{202, 152, 101}, kRed{190, 60, 60}, kGreen{60, 150, 80}, kIce{200, 225, 240};

/// A plane of `width` x `height` units with the origin at the bottom left and y upwards, drawn at this scale in pixels
/// per unit.
class Sketch {
 public:
  struct At {
    double x, y;
  };
  Sketch(double width, double height, double pixels_a_unit, Colour ground = kWhite);

  /// Draws a line with round ends, `thickness` units wide.
  void line(At from, At to, double thickness, Colour colour);
  void disc(At centre, double radius, Colour colour);
  /// Draws an upright box, given by two opposite corners.
  void box(At from, At to, Colour colour);

  Picture picture() && { return std::move(picture_); }

 private:
  template <class Distance>
  void fill(Colour colour, Distance distance);

  Picture picture_;
  double scale_;
};

}  // namespace kiln::rl

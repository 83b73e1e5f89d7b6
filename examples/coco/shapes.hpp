// Pictures of discs, squares and triangles in a folder as COCO has them: pictures, and instances.json with the boxes and
// outlines of what is on them.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "kiln/data/picture/annotated.hpp"
#include "kiln/vision/transform2d.hpp"

namespace shapes {

inline const std::vector<std::string> kNames = {"disc", "square", "triangle"};

struct Scene {
  kiln::AnnotatedPicture item;                                // the picture and its boxes
  std::vector<std::vector<kiln::vision::Position>> outlines;  // of each box, in the order in which they were drawn
};
/// One to four things on uneven ground, under noise: a function of the seed.
Scene scene(std::int64_t side, std::uint64_t seed);

/// Puts so many pictures into the folder "shapes-COUNT-SIDE", unless they lie there, and returns its name. Throws
/// ArgumentError for fewer than ten, or a side that is not 32 to 1024.
std::string draw(std::int64_t count, std::int64_t side);

}  // namespace shapes

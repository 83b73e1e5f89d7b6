#include "examples/segment/scene.hpp"

#include <cmath>
#include <numbers>
#include <vector>

#include "kiln/core/random.hpp"

namespace segment {
namespace {

struct Shown {
  double x, y, radius, turn, bright;
  std::int64_t kind;  // its class

  bool covers(double px, double py) const {
    const double dx = px - x, dy = py - y;
    if (kind == 1) return dx * dx + dy * dy < radius * radius;
    constexpr double kThird = 2 * std::numbers::pi / 3, kInner = 0.7776;  // whose triangle has the disc's area
    bool inside = true;
    for (int side = 0; side < 3; ++side)
      inside = inside && dx * std::cos(turn + side * kThird) + dy * std::sin(turn + side * kThird) < kInner * radius;
    return inside;
  }
};

/// Two to five things, the later ones in front.
void paint(Random random, std::int64_t side, float* pixels, std::int64_t* classes) {
  const double size = static_cast<double>(side);
  std::vector<Shown> things;
  for (int count = 2 + static_cast<int>(random.uniform(0, 4)); count > 0; --count) {
    Shown thing{};
    thing.x = random.uniform(0.1, 0.9) * size;
    thing.y = random.uniform(0.1, 0.9) * size;
    thing.radius = random.uniform(0.1, 0.2) * size;
    thing.turn = random.uniform(0, 2.1);
    thing.bright = random.uniform(0.4, 0.9);
    thing.kind = random.uniform(0, 1) < 0.5 ? 1 : 2;
    things.push_back(thing);
  }
  const double ground = random.uniform(0, 0.3), light = random.uniform(-0.3, 0.3), tilt = random.uniform(-0.3, 0.3);
  for (std::int64_t row = 0; row < side; ++row)
    for (std::int64_t column = 0; column < side; ++column) {
      const double x = static_cast<double>(column) + 0.5, y = static_cast<double>(row) + 0.5;
      double bright = ground;
      *classes = 0;
      for (const Shown& thing : things)
        if (thing.covers(x, y)) {
          bright = thing.bright;
          *classes = thing.kind;
        }
      bright += light * (x / size - 0.5) + tilt * (y / size - 0.5) + 0.15 * random.normal();
      *pixels++ = static_cast<float>(bright);
      ++classes;
    }
}

}  // namespace

Scenes scenes(std::int64_t count, std::int64_t side, std::uint64_t seed, const Device& device) {
  TensorData images({count, 1, side, side}, DType::F32), classes({count, side, side}, DType::I64);
  float* const pixels = images.as<float>().data();
  std::int64_t* const kinds = classes.as<std::int64_t>().data();
  for (std::int64_t i = 0; i < count; ++i)
    paint(Random(Key{seed}.split(static_cast<std::uint64_t>(i))), side, pixels + i * side * side,
          kinds + i * side * side);
  return {Tensor<4>::from_data(std::move(images), device), Tensor<3, Int>::from_data(std::move(classes), device)};
}

}  // namespace segment

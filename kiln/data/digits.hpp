// Digits: handwritten digits that Kiln draws itself, so that a first program needs no download. Pen strokes that are
// bent, slanted, rotated, thick or thin, with a little noise; bright on dark, as in MNIST.
#pragma once
#include <cstdint>

#include "kiln/core/random.hpp"
#include "kiln/data/dataset.hpp"
#include "kiln/data/image.hpp"

namespace kiln {

struct DigitsConfig {
  std::int64_t count = 60'000;
  std::uint64_t seed = 0;  // sets of different seeds share no image: use one for training, another for testing
  std::int64_t side = 28;  // height and width in pixels
};

/// Item i is a pure function of (seed, i, side), drawn on access. Each ten items in a row (0 to 9, 10 to 19, ...) have
/// each of the ten labels once, in a random order.
class Digits final : public Dataset<Image> {
 public:
  /// Throws ArgumentError if count is negative or side is not 8 to 4096.
  explicit Digits(const DigitsConfig& config);
  std::int64_t size() const override { return config_.count; }

 private:
  Image item(std::int64_t index) const override;

  DigitsConfig config_;
};

/// Draws `digit` (0 to 9) in a handwriting that `random` decides: [side, side] pixels from 0 to 1. The ink stays inside
/// the image.
Image draw_digit(int digit, std::int64_t side, Random& random);

}  // namespace kiln

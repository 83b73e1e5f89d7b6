// What an environment shows and what it takes, as values.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kiln/core/random.hpp"
#include "kiln/core/shape.hpp"

namespace kiln::rl {

/// A set of lists of float numbers. A discrete space has one number, an index from 0 to count - 1; a box has a number for each
/// element of its shape, each between two bounds, which may be infinite.
class Space {
 public:
  /// Throws ArgumentError for a count below 1 or above 2^24, from where on float has not every integer.
  static Space discrete(std::int64_t count);
  /// Throws ShapeError where the bounds are not as many as the elements, ArgumentError where a lower one is above the upper
  /// one, or NaN.
  static Space box(const Shape& shape, std::vector<float> low, std::vector<float> high);
  static Space box(const Shape& shape, float low, float high);

  bool is_discrete() const { return count_ > 0; }
  /// The number of choices of a discrete space; 0 for a box.
  std::int64_t count() const { return count_; }
  /// The shape of a point; [] for a discrete space.
  const Shape& shape() const { return shape_; }
  /// How many numbers a point of the space has.
  std::int64_t size() const { return numel(shape_); }
  /// The bounds of a box.
  const std::vector<float>& low() const { return low_; }
  const std::vector<float>& high() const { return high_; }

  bool contains(std::span<const float> point) const;
  /// Throws ArgumentError, which `who` begins ("CartPole: action"), where the space has no such point.
  void require(std::string_view who, std::span<const float> point) const;
  /// Writes a point that is sampled uniformly. A number with an infinite bound is sampled from an interval of length 2:
  /// [-1, 1] where both bounds are infinite, else the one beside the finite bound.
  void sample(Random& random, std::span<float> point) const;

  friend bool operator==(const Space&, const Space&) = default;

 private:
  std::int64_t count_ = 0;
  Shape shape_;
  std::vector<float> low_, high_;
};

/// "one of 0 to 1", "float [4]".
void append(std::string& out, const Space& space);

}  // namespace kiln::rl

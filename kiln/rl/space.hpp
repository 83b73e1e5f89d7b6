// The sets of observations and actions, as values.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kiln/core/random.hpp"
#include "kiln/core/shape.hpp"

namespace kiln::rl {

/// A set of lists of float numbers. A discrete space has one number, an index from 0 to count - 1. A box has a number
/// for each element of its shape, between two bounds, which may be infinite.
class Space {
 public:
  /// Throws ArgumentError for a count below 1 or above 2^24, above which float does not have every integer.
  static Space discrete(std::int64_t count);
  /// Throws ShapeError unless there is one bound of each kind for each element, and ArgumentError if a lower bound
  /// exceeds the upper one or is NaN.
  static Space box(const Shape& shape, std::vector<float> low, std::vector<float> high);
  static Space box(const Shape& shape, float low, float high);

  bool is_discrete() const { return count_ > 0; }
  /// Returns the number of choices of a discrete space; 0 for a box.
  std::int64_t count() const { return count_; }
  /// Returns the shape of a point; [] for a discrete space.
  const Shape& shape() const { return shape_; }
  /// Returns how many numbers a point of the space has.
  std::int64_t size() const { return numel(shape_); }
  /// Return the bounds of a box.
  const std::vector<float>& low() const { return low_; }
  const std::vector<float>& high() const { return high_; }

  bool contains(std::span<const float> point) const;
  /// Throws ArgumentError, which begins with `who` ("CartPole: action"), if the point is not in the space.
  void require(std::string_view who, std::span<const float> point) const;
  /// Writes a uniformly sampled point. A number with an infinite bound is sampled from an interval of length 2: [-1, 1]
  /// if both bounds are infinite, otherwise next to the finite bound.
  void sample(Random& random, std::span<float> point) const;

  friend bool operator==(const Space&, const Space&) = default;

 private:
  std::int64_t count_ = 0;
  Shape shape_;
  std::vector<float> low_, high_;
};

/// Appends "one of 0 to 1" or "float [4]".
void append(std::string& out, const Space& space);

}  // namespace kiln::rl

// What an environment shows and what it takes, as values.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "kiln/core/random.hpp"
#include "kiln/core/shape.hpp"

namespace kiln::rl {

/// Random numbers in sequence: a seed, and how many words were drawn. What goes on from the same two draws the same numbers.
struct Draws {
  std::uint64_t seed = 0, drawn = 0;

  std::uint32_t word() { return random_word(Key{seed}, drawn++); }
  double uniform();                         // [0, 1)
  double uniform(double low, double high);  // [low, high)
  std::int64_t below(std::int64_t limit);   // [0, limit), limit >= 1
  friend bool operator==(const Draws&, const Draws&) = default;
};

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
  /// Of a discrete space; 0 for a box.
  std::int64_t count() const { return count_; }
  /// [] of a discrete space.
  const Shape& shape() const { return shape_; }
  /// How many numbers a point of the space has.
  std::int64_t size() const { return numel(shape_); }
  /// The bounds of a box.
  const std::vector<float>& low() const { return low_; }
  const std::vector<float>& high() const { return high_; }

  bool contains(std::span<const float> point) const;
  /// Throws ArgumentError, which `who` begins ("CartPole: action"), where the space has no such point.
  void require(std::string_view who, std::span<const float> point) const;
  /// A point drawn uniformly. A number whose bounds are infinite is drawn from [-1, 1], moved beside the finite one.
  void sample(Draws& draws, std::span<float> point) const;

  friend bool operator==(const Space&, const Space&) = default;

 private:
  std::int64_t count_ = 0;
  Shape shape_;
  std::vector<float> low_, high_;
};

/// "one of 2", "float [4]".
void append(std::string& out, const Space& space);

}  // namespace kiln::rl

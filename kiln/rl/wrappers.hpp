// Environments around another: a limit of steps, several observations as one, an index as a list of 0 and 1, normalised
// numbers, a film.
#pragma once
#include <filesystem>

#include "kiln/rl/normalization.hpp"

namespace kiln::rl {

/// Truncates an episode after so many steps. Throws ArgumentError for less than one.
EnvironmentPtr limited(EnvironmentPtr environment, std::int64_t steps);

/// Shows the last `frames` observations, the oldest first, joined along their first dimension; at the start of an episode
/// the first one so many times. Throws ArgumentError for less than one frame, ShapeError for a discrete space.
EnvironmentPtr stacked(EnvironmentPtr environment, std::int64_t frames);

/// Shows an index of a discrete space as a box of `count` numbers, of which one is 1. Throws ArgumentError for a box.
EnvironmentPtr one_hot(EnvironmentPtr environment);

/// Normalises observations and rewards by the moments of this environment; its episodes then have sums of normalised rewards.
/// For several environments VectorEnvironment::normalize() has moments of all, and its episodes the rewards as they were.
/// Throws ArgumentError, and ShapeError for a discrete space of observations.
EnvironmentPtr normalized(EnvironmentPtr environment, const NormalizationConfig& config = {});

struct FilmConfig {
  std::filesystem::path directory{};  // made where it is missing
  std::int64_t every = 1;             // the first episode that ends, and each so many after it
  bool gif = true;                    // episode-0001.gif; else a folder of PNG files, episode-0001/0001.png
  std::int64_t milliseconds = 40;     // of a picture in a GIF: a multiple of 10
  std::int64_t steps_per_picture = 1;
  std::int64_t most_pictures = 1000;  // of an episode; it goes on unseen

  /// Throws ArgumentError.
  void check() const;
};
/// Films episodes: the pictures of their steps, written when an episode ends. It has no other effect; what it films is not
/// part of its state. step() throws IoError where a file cannot be written.
EnvironmentPtr filmed(EnvironmentPtr environment, const FilmConfig& config);

}  // namespace kiln::rl

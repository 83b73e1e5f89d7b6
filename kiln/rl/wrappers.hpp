// Wrappers around an environment: a limit of steps, stacked observations, a one-hot index, normalised numbers, a film.
#pragma once
#include <filesystem>

#include "kiln/rl/normalization.hpp"

namespace kiln::rl {

/// Truncates an episode after so many steps. Throws ArgumentError for less than one.
EnvironmentPtr limited(EnvironmentPtr environment, std::int64_t steps);

/// Shows the last `frames` observations, the oldest first, joined along their first dimension; at the start of an
/// episode the first observation is repeated. Throws ArgumentError for less than one frame, and ShapeError for a
/// discrete space.
EnvironmentPtr stacked(EnvironmentPtr environment, std::int64_t frames);

/// Shows an index of a discrete space as a box of `count` numbers, one of which is 1. Throws ArgumentError for a box.
EnvironmentPtr one_hot(EnvironmentPtr environment);

/// Normalises observations and rewards by the moments of this environment; the rewards of its episodes are sums of
/// normalised ones. VectorEnvironment::normalize() uses the moments of several environments, and keeps the original
/// rewards of episodes. Throws ArgumentError, and ShapeError for a discrete space of observations.
EnvironmentPtr normalized(EnvironmentPtr environment, const NormalizationConfig& config = {});

struct FilmConfig {
  std::filesystem::path directory{};  // created if it does not exist
  std::int64_t every = 1;             // films every so many episodes, starting with the first that ends
  bool gif = true;                    // writes episode-0001.gif; otherwise a folder of PNG files, episode-0001/0001.png
  std::int64_t milliseconds = 40;     // duration of a picture in a GIF: a multiple of 10
  std::int64_t steps_per_picture = 1;
  std::int64_t most_pictures = 1000;  // pictures per episode; later ones are not filmed

  /// Throws ArgumentError.
  void check() const;
};
/// Films episodes: writes the pictures of their steps when an episode ends. It has no other effect, and the film is not
/// part of the environment's state. step() throws IoError if a file cannot be written.
EnvironmentPtr filmed(EnvironmentPtr environment, const FilmConfig& config);

}  // namespace kiln::rl

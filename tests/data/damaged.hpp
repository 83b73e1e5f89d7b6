// Files as a bad disk or a bad person leaves them.
#pragma once
#include <cstdint>
#include <iterator>
#include <utility>

#include "kiln/core/random.hpp"

namespace kiln::test {

/// `sound` with one to three bytes changed.
template <class Bytes>
Bytes changed(Bytes sound, Random& random) {
  for (std::int64_t changes = 1 + random.below(3); changes > 0; --changes)
    sound[static_cast<std::size_t>(random.below(std::ssize(sound)))] =
        static_cast<typename Bytes::value_type>(random.below(256));
  return sound;
}
/// The same, and one time in four cut off.
template <class Bytes>
Bytes damaged(Bytes sound, Random& random) {
  Bytes bytes = changed(std::move(sound), random);
  if (random.below(4) == 0) bytes.resize(static_cast<std::size_t>(random.below(std::ssize(bytes))));
  return bytes;
}

}  // namespace kiln::test

#include "kiln/core/random.hpp"

#include <cmath>

#include "kiln/core/error/error.hpp"

namespace kiln {
namespace {

// The third word of the counter separates the uses of a key: its numbers, the keys below it, and (2) the streams of
// elements.
constexpr std::uint32_t kNumbers = 0, kKeys = 1;

PhiloxWords words(Key key, std::uint64_t index, std::uint32_t use) {
  return philox({static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32), use, 0},
                {static_cast<std::uint32_t>(key.bits), static_cast<std::uint32_t>(key.bits >> 32)});
}

}  // namespace

Key Key::split(std::uint64_t index) const {
  const auto out = words(*this, index, kKeys);
  return Key{out[0] | static_cast<std::uint64_t>(out[1]) << 32};
}

PhiloxWords philox(Key key, std::uint64_t block) { return words(key, block, kNumbers); }

std::uint32_t random_word(Key key, std::uint64_t index) { return philox(key, index / 4)[index % 4]; }

std::uint32_t Random::word() {
  if (next_ % 4 == 0) block_ = philox(key_, next_ / 4);
  return block_[next_++ % 4];
}

double Random::uniform() {
  const std::uint64_t high = word() >> 5, low = word() >> 6;  // 27 and 26 bits
  return static_cast<double>(high << 26 | low) * 0x1p-53;
}

double Random::uniform(double low, double high) {
  const double number = low + (high - low) * uniform();
  // Rounding may reach the upper end, which is excluded.
  return number < high ? number : low;
}

double Random::normal() {
  // Box and Muller's transform. 1 - u is in (0, 1], so that the logarithm is finite.
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));
  return radius * std::cos(6.283185307179586 * uniform());
}

std::int64_t Random::below(std::int64_t limit) {
  require<ArgumentError>(limit >= 1, "Random::below: the limit must be at least 1, got ", limit);
  // The numbers below 2^64 mod limit would make some results more likely, so another one is generated.
  const auto range = static_cast<std::uint64_t>(limit);
  const std::uint64_t unfair = (0 - range) % range;
  std::uint64_t number = 0;
  do number = static_cast<std::uint64_t>(word()) << 32, number |= word();
  while (number < unfair);
  return static_cast<std::int64_t>(number % range);
}

}  // namespace kiln

#include "kiln/core/system/system_seed.hpp"

#include <exception>
#include <random>

#include "kiln/core/error/error.hpp"

namespace kiln {

std::uint64_t seed_from_system() {
  static_assert(std::random_device::min() == 0 && std::random_device::max() >= 0xFFFFFFFFu);
  try {
    std::random_device source;
    const std::uint64_t high = source() & 0xFFFFFFFFu;
    return high << 32 | (source() & 0xFFFFFFFFu);
  } catch (const std::exception& error) {
    fail<IoError>("seed_from_system: the system gives no random numbers (", error.what(), "); give a seed of your own");
  }
}

}  // namespace kiln

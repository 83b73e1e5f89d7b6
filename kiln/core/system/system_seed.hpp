// A seed that differs from run to run.
#pragma once
#include <cstdint>

namespace kiln {

/// Returns 64 bits from the system's source of random numbers. Seed a device or a Generator with them, and print them,
/// so that the run can be repeated:
///
///   const std::uint64_t seed = seed_from_system();
///   print("seed {}\n", seed);
///   device.seed(seed);
///
/// Throws IoError where the system has no such source.
std::uint64_t seed_from_system();

}  // namespace kiln

#include "bench/machine/tiles.hpp"

#include <vector>

#include "kiln/backend/cpu/amx/amx.hpp"
#include "kiln/backend/cpu/amx/tiles.hpp"

namespace bench {

double multiply_tiles() {
  using namespace kiln::cpu;
  if (!amx::available()) return 0;
  constexpr std::int64_t kDepth = 256, kRounds = 20'000;  // both operands of a block lie in the first cache
  const std::vector<std::uint16_t> packed(static_cast<std::size_t>(amx::packed_size(amx::kBlock, kDepth)));
  std::vector<float> sums(static_cast<std::size_t>(amx::kSums));
  const amx::Tiles tiles;
  for (std::int64_t round = 0; round < kRounds; ++round)
    amx::multiply(packed.data(), packed.data(), amx::kBlock, amx::kBlock, kDepth, round > 0, sums.data());
  return 2.0 * amx::kBlock * amx::kBlock * kDepth * kRounds;
}

}  // namespace bench

// Selects those of the x86-64 tiles that this processor can run.
#include <vector>

#include "kiln/backend/cpu/algorithm.hpp"
#include "kiln/backend/cpu/amx/amx.hpp"
#include "kiln/backend/cpu/integer/tiles.hpp"

namespace kiln::cpu::integer {
namespace {

bool has_vnni() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni");
}

}  // namespace

std::span<const Tiles* const> machine_tiles() {
  static constexpr Tiles kAmx{"AMX", Algorithm::IntegerAmx, 16, kDepth, multiply_amx},
      kVnni{"VNNI", Algorithm::IntegerVnni, 1, kQuad, multiply_vnni};
  static const std::vector<const Tiles*> tiles = [] {
    std::vector<const Tiles*> list;
    if (amx::has_bytes()) list.push_back(&kAmx);
    if (has_vnni()) list.push_back(&kVnni);
    return list;
  }();
  return tiles;
}

}  // namespace kiln::cpu::integer

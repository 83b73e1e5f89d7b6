// Tiles whose source files are compiled only for processors with their instructions.
#pragma once
#include "kiln/backend/cpu/integer/tiles.hpp"

namespace kiln::cpu::integer {

/// AVX-512's products of four bytes (VNNI).
void multiply_vnni(const std::uint8_t* left, std::int64_t step, std::int64_t count, const std::int8_t* right,
                   std::int64_t panel_step, std::int64_t panels, std::int64_t depth, std::int32_t* sums,
                   std::int64_t row);
/// Intel's tiles (AMX) of 16 rows of 64 bytes.
void multiply_amx(const std::uint8_t* left, std::int64_t step, std::int64_t count, const std::int8_t* right,
                  std::int64_t panel_step, std::int64_t panels, std::int64_t depth, std::int32_t* sums,
                  std::int64_t row);

}  // namespace kiln::cpu::integer

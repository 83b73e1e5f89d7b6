#include "kiln/backend/cpu/integer/panels.hpp"

#include <algorithm>
#include <cstring>

#include "kiln/backend/cpu/product.hpp"
#include "kiln/core/parallel.hpp"

namespace kiln::cpu::integer {

using std::int64_t;

void PackPanels::pack_panel(const std::uint8_t* from, int64_t columns, std::uint8_t* to, std::int32_t* sums) const {
  const int64_t k = taps * inner;
  std::memset(to, 0, static_cast<std::size_t>(panel_size()));
  if (taps == 1 && inner_step == 1) {
    for (int64_t j = 0; j < columns; ++j)
      for (int64_t at = 0; at < k; at += kQuad)
        std::memcpy(to + at * kPanel + j * kQuad, from + j * column_step + at,
                    static_cast<std::size_t>(std::min(kQuad, k - at)));
  } else {
    for (int64_t tap = 0, at = 0; tap < taps; ++tap)
      for (int64_t i = 0; i < inner; ++i, ++at) {
        const std::uint8_t* const row = from + tap * tap_step + i * inner_step;
        std::uint8_t* const quads = to + at / kQuad * kQuad * kPanel + at % kQuad;
        for (int64_t j = 0; j < columns; ++j) quads[j * kQuad] = row[j * column_step];
      }
  }
  for (int64_t j = 0; j < columns; ++j) {
    std::uint32_t sum = 0;
    for (int64_t at = 0; at < k; ++at) {
      std::uint8_t& byte = to[at / kQuad * kQuad * kPanel + j * kQuad + at % kQuad];
      if (is_unsigned) byte ^= 0x80;
      sum += static_cast<std::uint32_t>(static_cast<std::int8_t>(byte));
    }
    sums[j] = static_cast<std::int32_t>(sum);
  }
  std::fill(sums + columns, sums + kPanel, 0);
}

void PackPanels::pack(const std::byte* from, std::byte* to) const {
  const int64_t across = panels();
  parallel_for(numel(batch) * across, std::max<int64_t>(1, (1 << 16) / panel_size()), [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      const int64_t matrix = part / across, panel = part % across, first = panel * kPanel;
      const std::byte* const source = from + offset_of(batch, steps, matrix) + first * column_step;
      std::byte* const target = to + matrix * matrix_size();
      pack_panel(reinterpret_cast<const std::uint8_t*>(source), std::min(kPanel, n - first),
                 reinterpret_cast<std::uint8_t*>(target) + panel * panel_size(),
                 const_cast<std::int32_t*>(sums_of(target)) + first);
    }
  });
}

}  // namespace kiln::cpu::integer

#include "kiln/backend/cpu/conv/panels.hpp"

#include <algorithm>
#include <vector>

#include "kiln/backend/cpu/simd/product/product_tiles.hpp"
#include "kiln/core/parallel.hpp"

namespace kiln::cpu::conv {

using std::int64_t;

void PackPanels::pack(const std::byte* from, std::byte* to) const {
  parallel_for(count(), divide_up(kMinOpsPerThread / 32, size()), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      pack(reinterpret_cast<const float*>(from), i, reinterpret_cast<float*>(to) + i * size());
  });
}

void PackPanels::pack(const float* from, int64_t index, float* to) const {
  constexpr int64_t kSome = 16;  // channels of x
  const simd::ProductTiles<float>& tiles = simd::product_tiles<float>();
  const int64_t first = index * panel, lanes = std::min(panel, out - first);
  if (kernel == 1 && lanes == panel) return tiles.transpose(from + first * in, in, to, panel, panel, in);
  std::vector<float> aside(static_cast<std::size_t>(kSome * kernel * panel), 0.0f);
  for (int64_t channel = 0; channel < in; channel += kSome) {
    const int64_t some = std::min(kSome, in - channel);
    tiles.transpose(from + (first * in + channel) * kernel, in * kernel, aside.data(), panel, lanes, some * kernel);
    for (int64_t k = 0; k < kernel; ++k)
      for (int64_t i = 0; i < some; ++i)
        std::copy_n(aside.data() + (i * kernel + k) * panel, panel, to + (k * in + channel + i) * panel);
  }
}

}  // namespace kiln::cpu::conv

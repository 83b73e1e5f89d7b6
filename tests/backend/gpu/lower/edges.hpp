// The 64-bit integers at which arithmetic on pairs of words could go wrong.
#pragma once
#include "tests/backend/gpu/lower/rules.hpp"

namespace kiln::gpu {

inline std::vector<std::uint64_t> edges() {
  std::vector<std::uint64_t> all;
  for (const std::uint64_t near : {std::uint64_t{0}, std::uint64_t{1} << 16, std::uint64_t{1} << 31,
                                   std::uint64_t{1} << 32, std::uint64_t{1} << 47, std::uint64_t{1} << 63})
    for (const std::int64_t by : {-2, -1, 0, 1, 3}) all.push_back(near + static_cast<std::uint64_t>(by));
  for (const std::uint64_t other : {31u, 32u, 33u, 62u, 63u, 64u, 65u, 1000000007u}) all.push_back(other);
  all.insert(all.end(), {0x0123456789abcdef, 0xfedcba9876543210, 0xffffffff00000000, 0x00000000ffffffff});
  return all;
}

/// Both for all pairs of edges.
template <class T>
struct EdgePairs {
  std::vector<T> x, y;
  EdgePairs() {
    for (const std::uint64_t a : edges())
      for (const std::uint64_t b : edges()) {
        x.push_back(static_cast<T>(a));
        y.push_back(static_cast<T>(b));
      }
    const std::size_t whole = (x.size() + 63) / 64 * 64;
    x.resize(whole, T{5});
    y.resize(whole, T{3});
  }
};

using WideTypes = testing::Types<std::int64_t, std::uint64_t>;

}  // namespace kiln::gpu

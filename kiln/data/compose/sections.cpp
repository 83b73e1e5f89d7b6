#include "kiln/data/compose/sections.hpp"

#include "kiln/core/error/error.hpp"

namespace kiln {

std::int64_t window_count(const WindowConfig& config, std::int64_t items) {
  require<ArgumentError>(config.size >= 1 && config.stride >= 1, "windows: size ", config.size, " and stride ",
                         config.stride, " must be at least 1");
  const std::int64_t whole = items < config.size ? 0 : (items - config.size) / config.stride + 1;
  if (!config.keep_rest || items == 0) return whole;
  // The items after the last whole window, from where the next one would begin.
  const std::int64_t covered = whole == 0 ? 0 : (whole - 1) * config.stride + config.size;
  const bool rest = covered < items && (whole == 0 || config.stride <= (items - 1) / whole);
  return whole + rest;
}

}  // namespace kiln

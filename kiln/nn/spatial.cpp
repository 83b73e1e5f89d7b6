#include "kiln/nn/spatial.hpp"

namespace kiln::nn {

Spatial per_dimension(std::string_view layer, std::string_view option, const Spatial& entries, int dimensions,
                      std::int64_t fallback) {
  if (entries.empty()) return Spatial::filled(dimensions, fallback);
  if (entries.size() == 1) return Spatial::filled(dimensions, entries[0]);
  require<ArgumentError>(entries.size() == dimensions, layer, ": ", option, " ", entries, " needs ", dimensions,
                         " entries, or one for all");
  return entries;
}

}  // namespace kiln::nn

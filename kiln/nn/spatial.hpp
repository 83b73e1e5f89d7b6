// Options with one entry for each spatial dimension.
#pragma once
#include <string_view>

#include "kiln/core/shape.hpp"

namespace kiln::nn {

/// The entries for each of the spatial dimensions: a single one holds for all, none means `fallback`.
/// Throws ArgumentError naming the layer and the option for any other number.
Spatial per_dimension(std::string_view layer, std::string_view option, const Spatial& entries, int dimensions,
                      std::int64_t fallback);

}  // namespace kiln::nn

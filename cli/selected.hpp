// Selectors on the command line, as patterns of names or as JSON.
#pragma once
#include <span>
#include <string>

#include "kiln/store/format/source.hpp"

namespace kiln::cli {

/// Returns the tensors that any of `only` selects, or all if `only` is empty, but none that `except` selects. Throws
/// ArgumentError or ConfigError for an invalid selector, and if `only` selects nothing.
TensorSource selected(const TensorSource& source, std::span<const std::string> only,
                      std::span<const std::string> except);

}  // namespace kiln::cli

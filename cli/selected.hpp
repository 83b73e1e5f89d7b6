// Selectors on the command line: patterns of names, or JSON.
#pragma once
#include <span>
#include <string>

#include "kiln/store/format/source.hpp"

namespace kiln::cli {

/// The tensors that one of `only` selects, if there are any, and none of `except`. Throws ArgumentError or ConfigError for
/// what is no selector, and where `only` selects nothing.
TensorSource selected(const TensorSource& source, std::span<const std::string> only,
                      std::span<const std::string> except);

}  // namespace kiln::cli

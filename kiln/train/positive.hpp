// A check that configurations of a training share.
#pragma once
#include <string_view>

#include "kiln/core/error/error.hpp"

namespace kiln::training {

/// Throws ArgumentError where an optional number is set, and not positive.
template <class Optional>
void require_positive(std::string_view whose, std::string_view name, const Optional& value) {
  require<ArgumentError>(!value || *value > 0, whose, ": ", name, " is ", value.value_or(0), ", it must be positive");
}

}  // namespace kiln::training

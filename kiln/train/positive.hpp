// A check that the configs of training share.
#pragma once
#include <limits>
#include <string_view>

#include "kiln/core/error/error.hpp"

namespace kiln::training {

/// Throws ArgumentError if an optional number is set, but not positive and finite.
template <class Optional>
void require_positive(std::string_view whose, std::string_view name, const Optional& value) {
  const bool finite = !value || *value <= std::numeric_limits<typename Optional::value_type>::max();
  require<ArgumentError>((!value || *value > 0) && finite, whose, ": ", name, " is ", value.value_or(0),
                         finite ? ", it must be positive" : ", it must be positive and finite");
}

}  // namespace kiln::training

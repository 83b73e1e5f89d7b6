// The error for a selector that selects nothing.
#pragma once
#include <span>
#include <string_view>

#include "kiln/nn/module/selector.hpp"

namespace kiln::nn {

/// For a selector that selects none of the candidates `of_what` ("the model's parameters"), which have these names:
/// throws ArgumentError, with the most similar name, unless it is Selector::none().
void throw_selects_none(std::string_view function, const Selector& selector, std::string_view of_what,
                        std::span<const std::string_view> names);

}  // namespace kiln::nn

// "Did you mean ...?"
#pragma once
#include <span>
#include <string_view>

namespace kiln {

/// The name that takes the fewest insertions, deletions and replacements to become `wanted`; empty where none is
/// close, or where there are so many that the search would take long.
std::string_view suggest(std::string_view wanted, std::span<const std::string_view> names);

}  // namespace kiln

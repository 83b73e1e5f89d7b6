// Suggests the known name that a misspelt one was probably meant for.
#pragma once
#include <span>
#include <string>
#include <string_view>

namespace kiln {

/// Returns the name nearest to `wrong` by insertions, deletions, replacements and swaps of neighbours (optimal string
/// alignment distance, at most a third of the letters); empty where none is near or there are more than 512 names.
std::string_view nearest_name(std::string_view wrong, std::span<const std::string_view> names);

/// Returns " (did you mean 'width'?)", or nothing where no name is near.
std::string did_you_mean(std::string_view wrong, std::span<const std::string_view> names);

}  // namespace kiln

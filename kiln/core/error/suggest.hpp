// The known name that a misspelt one was probably meant for.
#pragma once
#include <span>
#include <string>
#include <string_view>

namespace kiln {

/// The one of `names` that is nearest to `wrong` by insertions, deletions, replacements and swaps of neighbours;
/// empty where none is near or there are more than 512. (Optimal string alignment distance, at most a third of the letters.)
std::string_view nearest_name(std::string_view wrong, std::span<const std::string_view> names);

/// " (did you mean 'width'?)", or nothing.
std::string did_you_mean(std::string_view wrong, std::span<const std::string_view> names);

}  // namespace kiln

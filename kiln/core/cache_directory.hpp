// Where a user's system keeps what can be had again.
#pragma once
#include <filesystem>
#include <optional>
#include <string_view>

namespace kiln {

/// The user's cache of that name: $XDG_CACHE_HOME/kiln/NAME or ~/.cache/kiln/NAME; nothing where neither variable is set.
std::optional<std::filesystem::path> cache_directory(std::string_view name);

}  // namespace kiln

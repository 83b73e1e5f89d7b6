// Where a user's system keeps what is his own: what can be had again, and what he says of programs.
#pragma once
#include <filesystem>
#include <optional>
#include <string_view>

namespace kiln {

/// The user's cache of that name: $XDG_CACHE_HOME/kiln/NAME or ~/.cache/kiln/NAME; nothing where neither variable names
/// a folder from the root on, as a relative one would be another wherever the program is started.
std::optional<std::filesystem::path> cache_directory(std::string_view name);

/// $XDG_CONFIG_HOME/kiln/NAME or ~/.config/kiln/NAME, likewise; whether it is there or not.
std::optional<std::filesystem::path> config_file(std::string_view name);

/// Whether nobody but this user and root can change the file or folder: it and all folders above it belong to one of
/// them, and others may not write there (above it: or may remove their own alone, as in /tmp). False where it is not
/// there.
bool is_safe_from_others(const std::filesystem::path& path);

/// Makes the folder, and those above it that are missing, for this user alone. False where that is refused.
bool make_private_folder(const std::filesystem::path& folder);

}  // namespace kiln

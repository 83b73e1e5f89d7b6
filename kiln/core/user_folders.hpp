// The folders of a user: the cache, whose files can be recreated, and the user's settings.
#pragma once
#include <filesystem>
#include <optional>
#include <string_view>

namespace kiln {

/// Returns the user's cache of that name: $XDG_CACHE_HOME/kiln/NAME or ~/.cache/kiln/NAME; nothing where neither
/// variable holds an absolute path, as a relative one would depend on where the program is started.
std::optional<std::filesystem::path> cache_directory(std::string_view name);

/// Returns $XDG_CONFIG_HOME/kiln/NAME or ~/.config/kiln/NAME by the same rules, whether the file exists or not.
std::optional<std::filesystem::path> config_file(std::string_view name);

/// Whether only this user and root can change the file or folder: it and all folders above it belong to one of them,
/// and others may not write there (a folder above may let others remove their own files, as /tmp does). False where it
/// does not exist.
bool is_safe_from_others(const std::filesystem::path& path);

/// Creates the folder, and missing folders above it, for this user alone. Returns false where that is refused.
bool make_private_folder(const std::filesystem::path& folder);

}  // namespace kiln

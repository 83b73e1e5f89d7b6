#include "kiln/core/user_folders.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

namespace kiln {
namespace {

namespace fs = std::filesystem;

/// Returns NAME in Kiln's folder below the folder that `variable` names, or below the folder `otherwise` of the home
/// folder.
std::optional<fs::path> of_user(const char* variable, const char* otherwise, std::string_view name) {
  const auto from_environment = [](const char* of) -> std::optional<fs::path> {
    const char* const value = std::getenv(of);
    return value && *value == '/' ? std::optional<fs::path>(value) : std::nullopt;
  };
  if (const auto folder = from_environment(variable)) return *folder / "kiln" / name;
  if (const auto home = from_environment("HOME")) return *home / otherwise / "kiln" / name;
  return std::nullopt;
}

bool is_safe_way(fs::path part) {
  for (bool above = false;; above = true) {
    struct stat status = {};
    if (::lstat(part.c_str(), &status) != 0) return false;
    if (status.st_uid != ::geteuid() && status.st_uid != 0) return false;
    const bool is_open = !S_ISLNK(status.st_mode) && (status.st_mode & S_IWOTH);
    if (is_open && !(above && (status.st_mode & S_ISVTX))) return false;
    if (!part.has_relative_path()) return true;
    part = part.parent_path();
  }
}

}  // namespace

std::optional<fs::path> cache_directory(std::string_view name) { return of_user("XDG_CACHE_HOME", ".cache", name); }
std::optional<fs::path> config_file(std::string_view name) { return of_user("XDG_CONFIG_HOME", ".config", name); }

bool is_safe_from_others(const fs::path& path) {
  std::error_code unknown;
  // Checks both paths: the one as written, with its links, and the one that they lead to.
  const fs::path written = fs::absolute(path, unknown), real = fs::canonical(path, unknown);
  return !unknown && is_safe_way(written) && is_safe_way(real);
}

bool make_private_folder(const fs::path& folder) {
  std::error_code unknown;
  if (folder.empty() || fs::is_directory(folder, unknown)) return true;
  if (!make_private_folder(folder.parent_path())) return false;
  // Another process may have created it first.
  return ::mkdir(folder.c_str(), S_IRWXU) == 0 || fs::is_directory(folder, unknown);
}

}  // namespace kiln

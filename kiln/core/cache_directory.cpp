#include "kiln/core/cache_directory.hpp"

#include <cstdlib>

namespace kiln {

std::optional<std::filesystem::path> cache_directory(std::string_view name) {
  const auto from_environment = [](const char* variable) {
    const char* const value = std::getenv(variable);
    return value && *value ? std::optional<std::filesystem::path>(value) : std::nullopt;
  };
  if (const auto cache = from_environment("XDG_CACHE_HOME")) return *cache / "kiln" / name;
  if (const auto home = from_environment("HOME")) return *home / ".cache" / "kiln" / name;
  return std::nullopt;
}

}  // namespace kiln

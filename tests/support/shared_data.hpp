// Data that are too large for the repository: where the environment says, or in a folder beside the source tree.
#pragma once
#include <cstdlib>
#include <filesystem>
#include <string>

namespace kiln {

/// What the environment's `variable` says, or ../shared/data/`folder` seen from the source tree where that is there; empty
/// otherwise. For programs with KILN_SOURCE_DIR.
inline std::string shared_data(const char* variable, const std::string& folder) {
  if (const char* const said = std::getenv(variable)) return said;
  const std::string beside = std::string(KILN_SOURCE_DIR) + "/../shared/data/" + folder;
  return std::filesystem::is_directory(beside) ? beside : std::string();
}

}  // namespace kiln

// Data that are too large for the repository: in a folder that the environment names, or beside the source tree.
#pragma once
#include <cstdlib>
#include <filesystem>
#include <string>

namespace kiln {

/// Returns the value of the environment's `variable`, or else ../shared/data/`folder` seen from the source tree if it
/// exists; empty otherwise. For programs that define KILN_SOURCE_DIR.
inline std::string shared_data(const char* variable, const std::string& folder) {
  if (const char* const said = std::getenv(variable)) return said;
  const std::string beside = std::string(KILN_SOURCE_DIR) + "/../shared/data/" + folder;
  return std::filesystem::is_directory(beside) ? beside : std::string();
}

}  // namespace kiln

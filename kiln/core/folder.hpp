// What lies in a folder.
#pragma once
#include <filesystem>
#include <system_error>
#include <vector>

namespace kiln {

/// The paths of what lies in the folder, in the system's order; those that could be read where there is a problem. (The
/// iterators of <filesystem> end the program, in libstdc++ 12, where they find no memory.)
std::vector<std::filesystem::path> paths_in(const std::filesystem::path& folder, std::error_code& problem);

}  // namespace kiln

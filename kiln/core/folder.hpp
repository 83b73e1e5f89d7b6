// The entries of a folder.
#pragma once
#include <filesystem>
#include <system_error>
#include <vector>

namespace kiln {

/// Returns the paths of the folder's entries, in the system's order; where there is a problem, the ones read so far.
/// (The iterators of <filesystem> in libstdc++ 12 end the program where memory runs out.)
std::vector<std::filesystem::path> paths_in(const std::filesystem::path& folder, std::error_code& problem);

}  // namespace kiln

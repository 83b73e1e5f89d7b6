// Sizes of free dimensions, as options of commands say them.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace kiln::cli {

/// "batch=8" and others. Throws ArgumentError, in the name of `command`, for what is none.
std::map<std::string, std::int64_t, std::less<>> sizes_of(const std::vector<std::string>& words,
                                                          const std::string& command);

}  // namespace kiln::cli

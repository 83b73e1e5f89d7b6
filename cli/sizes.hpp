// Parses the sizes of free dimensions in the options of commands.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace kiln::cli {

/// Parses words such as "batch=8". Throws ArgumentError, in the name of `command`, for a word of another form.
std::map<std::string, std::int64_t, std::less<>> sizes_of(const std::vector<std::string>& words,
                                                          const std::string& command);

}  // namespace kiln::cli

// What whoever starts a program says of it, by the environment or by a file.
//
//   # kiln.toml, in the directory that the program is started in, or the file that KILN_CONFIG names
//   device = "cpu"
//   threads = 8
//   fusion = false
//   memory_limit = "4G"
#pragma once
#include <map>
#include <string>
#include <string_view>

namespace kiln {

/// What the environment says of `name`, "KILN_THREADS", or else the file of `threads`, as the environment would have
/// written it: false is "0". Null where neither says anything. The file is read at the first question, and one that
/// cannot be understood throws ConfigError, with its name and the line. In builds without files: the environment alone.
const char* setting(const char* name);

/// A setting that is 0 or 1, or `otherwise`. Throws ArgumentError where it is anything else.
bool is_set(const char* name, bool otherwise);

/// What such a file says, by name: {"fusion", "0"}. Throws ConfigError, "kiln.toml, line 3: ...".
std::map<std::string, std::string, std::less<>> read_settings(std::string_view text, std::string_view file);

/// Is `topic` among those that KILN_LOG names, "fusion,autodiff"? Throws ArgumentError where it names one that there is
/// not.
bool is_logged(std::string_view topic);

}  // namespace kiln

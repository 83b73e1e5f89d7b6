// What whoever starts a program says of it, by the environment or by a file.
//
//   # kiln.toml, in the directory that the program is started in, and then in ~/.config/kiln
//   device = "cpu"
//   threads = 8
//   fusion = false
//   memory_limit = "4G"
#pragma once
#include <map>
#include <string>
#include <string_view>

namespace kiln {

/// What the environment says of `name`, "KILN_THREADS", or else a file of `threads`, as the environment would have
/// written it: false is "0". Null where nothing says anything. The file is the one that KILN_CONFIG names, or else
/// ./kiln.toml, and of what that leaves open $XDG_CONFIG_HOME/kiln/kiln.toml or ~/.config/kiln/kiln.toml. Files are
/// read at the first question, and one that cannot be understood throws ConfigError, with its name and the line. In
/// builds without files: the environment alone.
const char* setting(const char* name);

/// A setting that is 0 or 1, or `otherwise`. Throws ArgumentError where it is anything else.
bool is_set(const char* name, bool otherwise);

/// Whose word a file is: that of whoever uses the program, or of whoever made the folder that it is started in. What is
/// opened as a library, executed or written is the user's affair: a project may not say it, and a user not by a path
/// that begins where the program is started.
enum class SettingsOf { User, Project };

/// What such a file says, by name: {"fusion", "0"}. Throws ConfigError, "kiln.toml, line 3: ...".
std::map<std::string, std::string, std::less<>> read_settings(std::string_view text, std::string_view file,
                                                              SettingsOf whose = SettingsOf::User);

/// Is `topic` among those that KILN_LOG names, "fusion,autodiff"? Throws ArgumentError where it names one that there is
/// not.
bool is_logged(std::string_view topic);

}  // namespace kiln

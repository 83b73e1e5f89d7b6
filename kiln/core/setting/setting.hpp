// Settings of a program's run, from the environment or from a file.
//
//   # kiln.toml, in the directory where the program is started, and then in ~/.config/kiln
//   device = "cpu"
//   threads = 8
//   fusion = false
//   memory_limit = "4G"
#pragma once
#include <map>
#include <string>
#include <string_view>

namespace kiln {

/// Returns the environment's value of `name`, such as "KILN_THREADS", or else the value of `threads` in a file, written
/// as the environment would have it: false is "0". Null where neither sets it. The file is the one that KILN_CONFIG
/// names, or else ./kiln.toml, and for settings missing there $XDG_CONFIG_HOME/kiln/kiln.toml or
/// ~/.config/kiln/kiln.toml. Files are read at the first call; one that cannot be parsed throws ConfigError with its
/// name and the line. Builds without files read the environment alone.
const char* setting(const char* name);

/// Returns a setting that is 0 or 1, or `otherwise` where it is not set. Throws ArgumentError for any other value.
bool is_set(const char* name, bool otherwise);

/// The owner of a settings file: the user of the program, or the project in whose folder the program is started. Only
/// the user's file may name libraries to open, code to execute or files to write; paths of libraries and code must not
/// depend on the directory where the program is started.
enum class SettingsOf { User, Project };

/// Parses such a file into values by name: {"fusion", "0"}. Throws ConfigError, "kiln.toml, line 3: ...".
std::map<std::string, std::string, std::less<>> read_settings(std::string_view text, std::string_view file,
                                                              SettingsOf whose = SettingsOf::User);

/// Whether `topic` is among those that KILN_LOG names, "fusion,autodiff". Throws ArgumentError where KILN_LOG names an
/// unknown one.
bool is_logged(std::string_view topic);

}  // namespace kiln

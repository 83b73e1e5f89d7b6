#include "kiln/core/setting/setting.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/memory_error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/core/error/suggest.hpp"
#include "kiln/core/file.hpp"
#include "kiln/core/trimmed.hpp"
#include "kiln/core/user_folders.hpp"

namespace kiln {
namespace {

/// The meaning of a setting's value, and the files that may set it.
enum class Means {
  Choice,   // a number, a switch, a word of a list: any file
  Data,     // a folder whose files are read as data: any file
  Trace,    // a switch, or a file that is written: a project's file may only give the switch
  Library,  // a library that is opened: the user's file alone, by an absolute path or a name the system searches for
  Code,     // a switch, or a folder of executed code: the folder only in the user's file, by an absolute path
  Device,   // a device: one of another machine, which is sent all data, only in the user's file
  Trust,    // a secret, or a file of those who are trusted: the user's file alone
};
struct KnownSetting {
  std::string_view name;
  Means means;
};
constexpr KnownSetting kRows[] = {{"autotune", Means::Choice},
                                  {"cache", Means::Code},
                                  {"choices", Means::Trace},
                                  {"cudnn", Means::Choice},
                                  {"data", Means::Data},
                                  {"deterministic", Means::Choice},
                                  {"device", Means::Device},
                                  {"fusion", Means::Choice},
                                  {"hiprtc", Means::Library},
                                  {"inflation", Means::Choice},
                                  {"log", Means::Choice},
                                  {"memory_limit", Means::Choice},
                                  {"nccl", Means::Choice},
                                  {"nvrtc", Means::Library},
                                  {"poison", Means::Choice},
                                  {"profile", Means::Trace},
                                  {"remote_authority", Means::Trust},
                                  {"remote_token", Means::Trust},
                                  {"tf32", Means::Choice},
                                  {"threads", Means::Choice},
                                  {"verify", Means::Choice},
                                  {"vulkan_order", Means::Choice},
                                  {"vulkan_validate", Means::Choice},
                                  {"webgpu_library", Means::Library}};
constexpr std::string_view kBlank = " \t\r";

/// A line of the file: `name = value  # why`. The values are TOML's strings, whole numbers and booleans.
class Line {
 public:
  Line(std::string_view file, SettingsOf whose, int number, std::string_view text)
      : file_(file), whose_(whose), number_(number), text_(text) {}

  void read_into(std::map<std::string, std::string, std::less<>>& settings) const {
    const std::string_view text = trimmed(text_, kBlank);
    if (text.empty() || text.front() == '#') return;
    const std::size_t sign = text.find('=');
    check(sign != text.npos && text.front() != '[', "a setting is written name = value, got '", shown(text), "'");
    const std::string_view name = trimmed(text.substr(0, sign), kBlank);
    const KnownSetting* const row = std::ranges::find(kRows, name, &KnownSetting::name);
    if (row == std::end(kRows)) {
      std::vector<std::string_view> names;
      for (const KnownSetting& each : kRows) names.push_back(each.name);
      check(false, "there is no setting '", shown(name), "'", did_you_mean(name, names));
    }
    const std::string value = value_of(trimmed(text.substr(sign + 1), kBlank));
    check_right(*row, value);
    check(settings.emplace(name, value).second, "'", name, "' occurs twice");
  }

 private:
  // A file in a folder of another person may not decide what is opened, executed or overwritten.
  void check_right(const KnownSetting& row, std::string_view value) const {
    const bool is_switch = value == "0" || value == "1";
    const bool is_far = value.find("remote:") != value.npos;  // also as a part of a router
    if (row.means == Means::Choice || row.means == Means::Data || (row.means == Means::Device && !is_far) ||
        (row.means != Means::Library && row.means != Means::Trust && is_switch))
      return;
    std::string variable = "KILN_";
    for (const char letter : row.name) variable += static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
    const std::string_view what = row.means == Means::Trace     ? "a file that is written"
                                  : row.means == Means::Library ? "a library that is opened"
                                  : row.means == Means::Device  ? "another machine, which is sent all data"
                                  : row.means == Means::Trust   ? "whom to trust"
                                                                : "a folder of code that is executed";
    check(whose_ == SettingsOf::User, "'", row.name, "' names ", what,
          ", which a file in the working directory may not do: set the environment's ", variable,
          ", or write it in your own ~/.config/kiln/kiln.toml");
    check((row.means != Means::Library && row.means != Means::Code) || value.starts_with('/') ||
              (row.means == Means::Library && value.find('/') == value.npos),
          "'", row.name, "' names ", what, ": write its absolute path, got '", shown(value), "'");
  }
  std::string value_of(std::string_view text) const {
    if (!text.empty() && (text.front() == '"' || text.front() == '\'')) {
      const std::size_t end = text.find(text.front(), 1);
      check(end != text.npos, "a string is not closed: ", shown(text));
      require_end(text.substr(end + 1));
      const std::string_view inside = text.substr(1, end - 1);
      check(text.front() == '\'' || inside.find('\\') == inside.npos,
            "write a string with a backslash in '...': ", shown(text));
      check(inside.find('\0') == inside.npos, "a string has a zero byte");
      return std::string(inside);
    }
    const std::string_view word = text.substr(0, text.find_first_of(" \t#"));
    require_end(text.substr(word.size()));
    if (word == "true") return "1";
    if (word == "false") return "0";
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    check(!word.empty() && error == std::errc() && end == word.data() + word.size(),
          "a value is \"a string\", a whole number, true or false, got '", shown(text), "'");
    return std::string(word);
  }
  void require_end(std::string_view rest) const {
    rest = trimmed(rest, kBlank);
    check(rest.empty() || rest.front() == '#', "'", shown(rest), "' stands behind the value");
  }
  template <class... Parts>
  void check(bool right, const Parts&... parts) const {
    require<ConfigError>(right, file_, ", line ", number_, ": ", parts...);
  }

  std::string_view file_;
  SettingsOf whose_;
  int number_;
  std::string_view text_;
};

using Settings = std::map<std::string, std::string, std::less<>>;

Settings settings_of_files() {
  namespace fs = std::filesystem;
  if (const char* const named = std::getenv("KILN_CONFIG"); named && *named)
    return read_settings(read_text_file(named), named);
  Settings settings;
  std::error_code unknown;
  const std::string project = "kiln.toml";
  const auto user = config_file(project);
  const bool has_own = user && fs::is_regular_file(*user, unknown);
  if (fs::is_regular_file(project, unknown) && !(has_own && fs::equivalent(project, *user, unknown)))
    settings = read_settings(read_text_file(project), project, SettingsOf::Project);
  if (has_own) settings.merge(read_settings(read_text_file(user->string()), user->string()));
  return settings;
}

}  // namespace

Settings read_settings(std::string_view text, std::string_view file, SettingsOf whose) try {
  Settings settings;
  std::string_view rest = text;
  for (int number = 1; !rest.empty(); ++number) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    Line(file, whose, number, rest.substr(0, end)).read_into(settings);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return settings;
} catch (...) { rethrow_as_memory_error(file); }

const char* setting(const char* name) {
  if (const char* const said = std::getenv(name); said && *said) return said;
  static const auto settings = settings_of_files();
  std::string key(std::string_view(name).substr(std::string_view("KILN_").size()));
  std::transform(key.begin(), key.end(), key.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto found = settings.find(key);
  return found == settings.end() ? nullptr : found->second.c_str();
}

}  // namespace kiln

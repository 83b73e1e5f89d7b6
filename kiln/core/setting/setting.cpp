#include "kiln/core/setting/setting.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <filesystem>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/core/error/suggest.hpp"
#include "kiln/core/file.hpp"
#include "kiln/core/trimmed.hpp"

namespace kiln {
namespace {

constexpr std::string_view kNames[] = {"autotune", "cache", "cudnn",        "data",  "deterministic", "device",
                                       "fusion",   "log",   "memory_limit", "nccl",  "nvrtc",         "poison",
                                       "profile",  "tf32",  "threads",      "verify"};
constexpr std::string_view kBlank = " \t\r";

/// A line of the file: `name = value  # why`, of TOML's values strings, whole numbers and booleans.
class Line {
 public:
  Line(std::string_view file, int number, std::string_view text) : file_(file), number_(number), text_(text) {}

  void read_into(std::map<std::string, std::string, std::less<>>& settings) const {
    const std::string_view text = trimmed(text_, kBlank);
    if (text.empty() || text.front() == '#') return;
    const std::size_t sign = text.find('=');
    check(sign != text.npos && text.front() != '[', "a setting is written name = value, got '", shown(text), "'");
    const std::string_view name = trimmed(text.substr(0, sign), kBlank);
    check(std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames), "there is no setting '",
          shown(name), "'", did_you_mean(name, kNames));
    check(settings.emplace(name, value_of(trimmed(text.substr(sign + 1), kBlank))).second, "'", name,
          "' stands there twice");
  }

 private:
  std::string value_of(std::string_view text) const {
    if (!text.empty() && (text.front() == '"' || text.front() == '\'')) {
      const std::size_t end = text.find(text.front(), 1);
      check(end != text.npos, "a string is not closed: ", shown(text));
      require_end(text.substr(end + 1));
      const std::string_view inside = text.substr(1, end - 1);
      check(text.front() == '\'' || inside.find('\\') == inside.npos,
            "write a string with a backslash in '...': ", shown(text));
      check(inside.find('\0') == inside.npos, "a string holds a byte of 0");
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
  int number_;
  std::string_view text_;
};

std::map<std::string, std::string, std::less<>> settings_of_file() {
  const char* const named = std::getenv("KILN_CONFIG");
  std::error_code unknown;
  const std::string file = named && *named ? named : "kiln.toml";
  if (!(named && *named) && !std::filesystem::is_regular_file(file, unknown)) return {};
  return read_settings(read_text_file(file), file);
}

}  // namespace

std::map<std::string, std::string, std::less<>> read_settings(std::string_view text, std::string_view file) {
  std::map<std::string, std::string, std::less<>> settings;
  std::string_view rest = text;
  for (int number = 1; !rest.empty(); ++number) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    Line(file, number, rest.substr(0, end)).read_into(settings);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return settings;
}

const char* setting(const char* name) {
  if (const char* const said = std::getenv(name); said && *said) return said;
  static const auto settings = settings_of_file();
  std::string key(std::string_view(name).substr(std::string_view("KILN_").size()));
  std::transform(key.begin(), key.end(), key.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const auto found = settings.find(key);
  return found == settings.end() ? nullptr : found->second.c_str();
}

}  // namespace kiln

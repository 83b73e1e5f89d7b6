// Names of a hub that become parts of paths and addresses; those that a server says are not trusted.
#pragma once
#include <algorithm>
#include <string>
#include <string_view>

namespace kiln::hub {

/// 40 hexadecimal digits.
inline bool is_commit(std::string_view text) {
  return text.size() == 40 && text.find_first_not_of("0123456789abcdef") == text.npos;
}

inline bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
}

/// May it be a file's name: letters, digits, '.', '_' and '-', and not "." or ".."?
inline bool is_plain_name(std::string_view name) {
  return !name.empty() && name.size() <= 128 && std::ranges::all_of(name, is_plain) &&
         name.find_first_not_of('.') != name.npos;
}

/// "name" or "org/name". Two dashes stand for a slash in the cache.
inline bool is_repository(std::string_view name) {
  const std::size_t slash = name.find('/');
  const bool plain = slash == name.npos ? is_plain_name(name)
                                        : is_plain_name(name.substr(0, slash)) && is_plain_name(name.substr(slash + 1));
  return plain && name.find("--") == name.npos;
}

/// A path that stays in its folder: no empty part, none of dots alone, no control characters or backslashes.
inline bool is_inner_path(std::string_view path) {
  if (path.size() > 1024) return false;
  for (;;) {
    const std::size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    const auto is_bad = [](char c) { return static_cast<unsigned char>(c) < 32 || c == 127 || c == '\\'; };
    if (part.empty() || part.size() > 255 || part == "." || part == ".." || std::ranges::any_of(part, is_bad))
      return false;
    if (slash == path.npos) return true;
    path.remove_prefix(slash + 1);
  }
}

/// Escapes a text as a part of an address; slashes stay if `keep_slashes`.
inline std::string in_url(std::string_view text, bool keep_slashes) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_plain(c) || (keep_slashes && c == '/')) out += c;
    else ((out += '%') += kHex[byte >> 4]) += kHex[byte & 15];
  }
  return out;
}

}  // namespace kiln::hub

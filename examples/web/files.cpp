#include "examples/web/files.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include "kiln/core/error/error.hpp"
#include "kiln/core/file.hpp"

namespace web {
namespace {

namespace fs = std::filesystem;
using kiln::net::Response;

std::optional<std::string> decoded(std::string_view path) {
  std::string plain;
  const auto digit = [](char letter) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    return kDigits.find(letter >= 'A' && letter <= 'F' ? static_cast<char>(letter + 32) : letter);
  };
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] != '%') {
      plain += path[i];
      continue;
    }
    if (i + 2 >= path.size()) return std::nullopt;
    const std::size_t high = digit(path[i + 1]), low = digit(path[i + 2]);
    if (high == std::string_view::npos || low == std::string_view::npos) return std::nullopt;
    plain += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return plain.find('\0') == std::string::npos ? std::optional(plain) : std::nullopt;
}

/// No part of the path leads up or is hidden.
bool stays_inside(const fs::path& path) {
  return std::all_of(path.begin(), path.end(), [](const fs::path& part) { return !part.string().starts_with('.'); }) &&
         path.is_relative();
}

Response missing(const std::string& path) { return {.status = 404, .body = "there is no file at " + path + "\n"}; }

}  // namespace

std::string type_of(const fs::path& file) {
  struct Row {
    std::string_view extension, type;
  };
  static constexpr std::array kRows{
      Row{".html", "text/html; charset=utf-8"},
      Row{".js", "text/javascript; charset=utf-8"},
      Row{".mjs", "text/javascript; charset=utf-8"},
      Row{".css", "text/css; charset=utf-8"},
      Row{".json", "application/json"},
      Row{".wasm", "application/wasm"},
      Row{".txt", "text/plain; charset=utf-8"},
      Row{".png", "image/png"},
      Row{".jpg", "image/jpeg"},
      Row{".svg", "image/svg+xml"},
  };
  for (const Row& row : kRows)
    if (file.extension() == row.extension) return std::string(row.type);
  return "application/octet-stream";
}

Response answer(const kiln::net::Request& request, const std::vector<Place>& places) {
  if (request.method != "GET" && request.method != "HEAD")
    return {.status = 405, .body = "files are asked for by GET\n"};
  const auto path = decoded(request.path);
  const Place* place = nullptr;
  for (const Place& each : places)
    if (path && path->starts_with(each.prefix) && (!place || each.prefix.size() > place->prefix.size())) place = &each;
  if (!place) return missing(request.path);
  const fs::path inside = path->substr(place->prefix.size());
  if (!stays_inside(inside)) return missing(request.path);
  fs::path file = place->folder / inside;
  std::error_code error;
  if (fs::is_directory(file, error)) {
    // Addresses in a page are relative to its folder, which an address without the last '/' does not name.
    if (request.path.back() != '/') return {.status = 301, .body = "", .headers = {{"Location", request.path + '/'}}};
    file /= "index.html";
  }
  if (!fs::is_regular_file(file, error)) return missing(request.path);
  return {.type = type_of(file), .body = kiln::read_text_file(file.string())};
}

}  // namespace web

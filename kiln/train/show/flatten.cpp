#include "kiln/train/show/flatten.hpp"

#include <variant>

#include "kiln/core/text.hpp"
#include "kiln/train/log/line_log.hpp"

namespace kiln {
namespace {

void flatten(const Json& json, const std::string& path, std::map<std::string, std::string>& out) {
  if (const auto* const object = std::get_if<Json::Object>(&json.is)) {
    for (const auto& [key, value] : *object) flatten(value, path.empty() ? key : text(path, '.', key), out);
  } else if (const auto* const word = std::get_if<std::string>(&json.is)) {
    out[path] = *word;
  } else {
    std::string written = write_json(json);
    std::erase(written, '\n');
    out[path] = written;
  }
}

}  // namespace

std::map<std::string, std::string> flattened(const Json& json) {
  std::map<std::string, std::string> out;
  if (!std::holds_alternative<std::nullptr_t>(json.is)) flatten(json, "", out);
  return out;
}

std::string json_of(const std::map<std::string, std::string>& words) {
  std::string out = "{";
  for (const auto& [name, word] : words) out += text(out.size() > 1 ? "," : "", json_text(name), ':', json_text(word));
  return out + '}';
}

}  // namespace kiln

#include "cli/run_figures.hpp"

#include <cstdint>
#include <fstream>
#include <iterator>
#include <variant>

#include "kiln/core/config/json.hpp"
#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/train/log/line_log.hpp"

namespace kiln::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kHistograms = 32, kLast = 256;

/// The bytes of a file from `first` on.
std::string bytes_from(const std::string& path, std::size_t first) {
  std::ifstream stream(path, std::ios::binary);
  stream.seekg(static_cast<std::streamoff>(first));
  require<IoError>(stream.good(), "cannot read ", shown(path));
  std::string bytes{std::istreambuf_iterator<char>(stream), {}};
  require<IoError>(!stream.bad(), "cannot read ", shown(path));
  return bytes;
}

}  // namespace

std::string RunFigures::of(const fs::path& directory) {
  const std::string path = (directory / "figures.jsonl").string();
  const std::scoped_lock lock(mutex_);
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return files_.erase(path), "[]";
  File& file = files_[path];
  try {
    read_further(path, file);
  } catch (const IoError&) {
    if (fs::exists(path, ignored)) throw;
    return files_.erase(path), "[]";  // it was deleted in between
  }
  std::string list = "[";
  for (const auto& [name, all] : file.newest)
    for (const std::string& figure : all) list += (list.size() > 1 ? "," : "") + figure;
  return list + ']';
}

void RunFigures::read_further(const std::string& path, File& file) {
  std::string bytes;
  if (std::error_code ignored; fs::file_size(path, ignored) >= file.read)
    bytes = bytes_from(path, file.read - file.last.size());
  if (bytes.starts_with(file.last)) {
    bytes.erase(0, file.last.size());
  } else {  // another file
    file = {};
    bytes = bytes_from(path, 0);
  }
  std::size_t at = 0;
  for (std::size_t end; (end = bytes.find('\n', at)) != std::string::npos; at = end + 1)
    add(path, bytes.substr(at, end - at), file);
  file.read += at;
  file.last += bytes.substr(0, at);
  if (file.last.size() > kLast) file.last.erase(0, file.last.size() - kLast);
}

void RunFigures::add(const std::string& path, const std::string& line, File& file) {
  std::map<std::string, Json> fields;
  try {
    const Json entry = parse_json(line, path);
    if (const auto* const object = std::get_if<Json::Object>(&entry.is)) fields = {object->begin(), object->end()};
  } catch (const ConfigError&) { return; }
  const auto* const kind = std::get_if<std::string>(&fields["event"].is);
  const auto* const name = std::get_if<std::string>(&fields["name"].is);
  const auto* const step = std::get_if<std::int64_t>(&fields["step"].is);
  if (!kind || !name || !step || !std::holds_alternative<Json::Object>(fields["content"].is)) return;
  auto& all = file.newest[text(*kind, '/', *name)];
  all.push_back(
      text('[', json_text(*kind), ',', json_text(*name), ',', *step, ',', write_json(fields["content"]), ']'));
  if (all.size() > (*kind == "histogram" ? kHistograms : 1)) all.pop_front();
}

}  // namespace kiln::cli

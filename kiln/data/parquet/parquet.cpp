#include "kiln/data/parquet/parquet.hpp"

#include <algorithm>
#include <charconv>
#include <future>
#include <map>
#include <mutex>
#include <set>

#include "kiln/core/config/json.hpp"
#include "kiln/core/error/memory_error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/core/error/suggest.hpp"
#include "kiln/core/folder.hpp"

namespace kiln {

using parquet::Chunk;
using parquet::Column;
using parquet::Kind;

struct ParquetFile::Open {
  using Ready = std::shared_future<std::shared_ptr<const Chunk>>;
  struct CachedChunk {
    Ready chunk;
    std::int64_t size = 0;  // 0 while a thread reads it; others wait
    std::uint64_t used = 0;
  };

  FileBytes file;
  parquet::Footer footer;
  std::int64_t most_bytes = 0;

  std::mutex mutex;
  std::map<std::pair<std::size_t, std::size_t>, CachedChunk> chunks;  // by group and column
  std::int64_t held = 0;
  std::uint64_t uses = 0;

  std::shared_ptr<const Chunk> read(std::size_t column, std::size_t group) const {
    const parquet::RowGroup& rows = footer.groups[group];
    return std::make_shared<const Chunk>(
        parquet::read_chunk(file, footer.columns[column], rows.chunks[column], rows.rows, most_bytes));
  }

  /// Removes the least recently used entries, but not `newest`.
  void shrink(const CachedChunk& newest) {
    while (held > most_bytes) {
      auto oldest = chunks.end();
      for (auto at = chunks.begin(); at != chunks.end(); ++at)
        if (at->second.size > 0 && &at->second != &newest &&
            (oldest == chunks.end() || at->second.used < oldest->second.used))
          oldest = at;
      if (oldest == chunks.end()) return;
      held -= oldest->second.size;
      chunks.erase(oldest);
    }
  }
};

ParquetFile::ParquetFile(FileBytes file, std::int64_t most_bytes) try : open_(std::make_shared<Open>()) {
  open_->footer = parquet::read_footer(file);
  open_->file = std::move(file);
  open_->most_bytes = most_bytes;
} catch (...) { rethrow_as_memory_error("a Parquet file"); }

std::int64_t ParquetFile::size() const { return open_->footer.rows; }
const std::string& ParquetFile::name() const { return open_->file.name; }
const std::vector<Column>& ParquetFile::columns() const { return open_->footer.columns; }

const std::string* ParquetFile::metadata(std::string_view key) const {
  for (const auto& [name, value] : open_->footer.metadata)
    if (name == key) return &value;
  return nullptr;
}

std::vector<std::string> ParquetFile::classes(std::string_view column) const try {
  const std::string* const said = metadata("huggingface");
  if (!said) return {};
  // {"info": {"features": {"label": {"names": ["neg", "pos"], "_type": "ClassLabel"}}}}
  Json json;
  try {
    json = parse_json(*said, name());
  } catch (const ConfigError&) { return {}; }
  for (const std::string_view key :
       {std::string_view("info"), std::string_view("features"), column, std::string_view("names")}) {
    const auto* const object = std::get_if<Json::Object>(&json.is);
    if (!object) return {};
    const auto found = std::ranges::find(*object, key, [](const auto& entry) { return std::string_view(entry.first); });
    if (found == object->end()) return {};
    json = Json(found->second);
  }
  std::vector<std::string> classes;
  if (const auto* const list = std::get_if<Json::List>(&json.is))
    for (const Json& each : *list)
      if (const auto* const word = std::get_if<std::string>(&each.is)) classes.push_back(*word);
  return classes;
} catch (...) { rethrow_as_memory_error(name()); }

ParquetFile::RowPosition ParquetFile::find(std::int64_t index) const {
  const auto& groups = open_->footer.groups;
  // The group before the first one that begins after the index; groups may be empty.
  const auto behind =
      std::ranges::upper_bound(groups, index, {}, [](const parquet::RowGroup& group) { return group.first; });
  const auto group = static_cast<std::size_t>(behind - groups.begin()) - 1;
  return {group, static_cast<std::size_t>(index - groups[group].first)};
}

std::shared_ptr<const Chunk> ParquetFile::chunk(std::size_t column, std::size_t group) const try {
  Open& open = *open_;
  const std::pair key(group, column);
  std::promise<std::shared_ptr<const Chunk>> promise;
  {
    std::unique_lock lock(open.mutex);
    const auto [entry, fresh] = open.chunks.try_emplace(key);
    entry->second.used = ++open.uses;
    if (!fresh) {
      const Open::Ready ready = entry->second.chunk;
      lock.unlock();
      return ready.get();
    }
    entry->second.chunk = promise.get_future().share();
  }
  try {
    auto chunk = open.read(column, group);
    promise.set_value(chunk);
    const std::lock_guard lock(open.mutex);
    Open::CachedChunk& entry = open.chunks.at(key);
    entry.size = chunk->size_in_memory() + 1;
    open.held += entry.size;
    open.shrink(entry);
    return chunk;
  } catch (...) {
    promise.set_exception(std::current_exception());
    const std::lock_guard lock(open.mutex);
    open.chunks.erase(key);
    throw;
  }
} catch (...) { rethrow_as_memory_error(name()); }

namespace parquet {
namespace {

std::string_view name_of(Kind kind) {
  constexpr std::string_view kNames[] = {"truth values", "whole numbers", "numbers", "texts or bytes"};
  return kNames[static_cast<std::size_t>(kind)];
}

bool fits(Kind kind, std::string_view wanted) {
  if (wanted == "texts" || wanted == "bytes") return kind == Kind::Bytes;
  if (wanted == "numbers") return kind == Kind::Numbers || kind == Kind::Integers;
  return kind == Kind::Integers || kind == Kind::Flags;
}

/// The N in "train-00000-of-0000N.parquet"; 0 for other names.
std::int64_t count_in(const std::string& name) {
  const std::size_t at = name.rfind("-of-");
  std::int64_t count = 0;
  if (at != name.npos) std::from_chars(name.data() + at + 4, name.data() + name.size(), count);
  return count;
}

}  // namespace

std::size_t find_column(const ParquetFile& file, std::string_view name, std::string_view wanted, std::size_t lists) {
  const auto& columns = file.columns();
  const auto found = std::ranges::find(columns, name, &Column::name);
  if (found == columns.end()) {
    std::vector<std::string_view> names;
    for (const Column& column : columns) names.push_back(column.name);
    fail<DataError>(file.name(), ": has no column '", shown(name), "'", did_you_mean(name, names));
  }
  require<DataError>(found->problem.empty(), file.name(), ": column '", shown(name), "': ", found->problem);
  const auto lists_of = [](std::size_t lists) {
    std::string words;
    while (lists-- > 0) words += "lists of ";
    return words;
  };
  require<DataError>(found->lists.size() == lists && fits(found->kind(), wanted), file.name(), ": column '",
                     shown(name), "' has ", lists_of(found->lists.size()), name_of(found->kind()), ", and is read as ",
                     lists_of(lists), wanted);
  return static_cast<std::size_t>(found - columns.begin());
}

void RowReader::fail_at(std::size_t node, std::string_view problem) const {
  fail<DataError>(file_.name(), ", row ", index_, ": column '", shown(column(node).name), "' ", problem);
}

bool is_of_split(const std::filesystem::path& path, std::string_view split) {
  if (path.extension() != ".parquet") return false;
  const std::string stem = path.stem().string();
  const bool named =
      stem == split || (stem.starts_with(split) && stem.size() > split.size() && stem[split.size()] == '-');
  return named || path.parent_path().filename() == split;
}

void require_whole(const std::set<std::filesystem::path>& files, std::string_view directory, std::string_view split) {
  require<DataError>(!files.empty(), directory, ": has no Parquet files of '", shown(split), "'");
  std::set<std::filesystem::path> folders;
  for (const auto& file : files) folders.insert(file.parent_path());
  if (folders.size() > 1)
    fail<DataError>(directory, ": has Parquet files of '", shown(split), "' in ", folders.begin()->string(), " and in ",
                    folders.rbegin()->string(), ": select one of them");
  const std::int64_t count = count_in(files.begin()->stem().string());
  require<DataError>(count == 0 || count == std::ssize(files), folders.begin()->string(), ": has ", files.size(),
                     " Parquet files of '", shown(split), "', and their names say that there are ", count);
}

std::vector<std::string> files_of(const std::filesystem::path& directory, std::string_view split) try {
  namespace fs = std::filesystem;
  std::error_code problem;
  std::set<fs::path> found;
  std::vector<fs::path> left = paths_in(directory, problem);
  while (!problem && !left.empty()) {
    const fs::path path = std::move(left.back());
    left.pop_back();
    if (fs::is_directory(fs::symlink_status(path, problem)))
      std::ranges::move(paths_in(path, problem), std::back_inserter(left));
    if (is_of_split(path, split)) found.insert(path);
  }
  require<IoError>(!problem, "cannot read ", directory.string(), ": ", problem.message());
  require_whole(found, directory.string(), split);
  std::vector<std::string> paths;
  for (const fs::path& path : found) paths.push_back(path.string());
  return paths;
} catch (...) { rethrow_as_memory_error(directory.native()); }

}  // namespace parquet
}  // namespace kiln

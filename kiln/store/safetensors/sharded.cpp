#include "kiln/store/safetensors/sharded.hpp"

#include <algorithm>
#include <filesystem>

#include "kiln/core/config/config.hpp"
#include "kiln/core/error/memory_error.hpp"

namespace kiln {
namespace {

constexpr std::string_view kIndex = ".index.json", kSafetensors = ".safetensors";

// The metadata may contain anything, and are not used here.
using WeightMap = std::map<std::string, std::string>;

WeightMap read_index(const FileBytes& index) {
  const std::string& path = index.name;
  try {
    const Json json = parse_json({reinterpret_cast<const char*>(index.bytes.data()), index.bytes.size()}, path);
    if (const auto* const object = std::get_if<Json::Object>(&json.is))
      for (const auto& [key, value] : *object)
        if (key == "weight_map") return from_json<WeightMap>(value, path);
  } catch (const ConfigError& error) { fail<DataError>(error.message()); }
  fail<DataError>(path, ": an index of shards has a 'weight_map'");
}

std::string shard_name(std::string_view stem, std::size_t shard, std::size_t count) {
  const auto five = [](std::size_t number) {
    const std::string digits = text(number);
    return std::string(5 - std::min<std::size_t>(5, digits.size()), '0') + digits;
  };
  return text(stem, '-', five(shard + 1), "-of-", five(count), kSafetensors);
}

struct ShardIndex {
  struct About {
    std::int64_t total_size = 0;
  };
  About metadata;
  WeightMap weight_map;
};

}  // namespace

bool is_shard_index(std::string_view path) { return path.ends_with(kIndex); }

TensorSource open_sharded(const FileBytes& index) try {
  const std::string& index_path = index.name;
  const std::filesystem::path folder = std::filesystem::path(index_path).parent_path();
  std::map<std::string, TensorSource> shards;
  TensorSource all;
  for (const auto& [name, file] : read_index(index)) {
    require<DataError>(!file.empty() && file != ".." && file.find('/') == file.npos && file.find('\0') == file.npos,
                       index_path, ": tensor '", shown(name), "' lies in '", shown(file),
                       "', which is not a file beside the index");
    auto shard = shards.find(file);
    if (shard == shards.end()) shard = shards.emplace(file, open_tensors(map_file((folder / file).string()))).first;
    const auto tensor = shard->second.tensors.find(name);
    if (const auto left_out = shard->second.left_out.find(name); left_out != shard->second.left_out.end()) {
      all.left_out.insert(*left_out);
      continue;
    }
    require<DataError>(tensor != shard->second.tensors.end(), index_path, ": tensor '", shown(name), "' is not in ",
                       shown(file));
    all.tensors.insert(*tensor);
    all.metadata.insert(shard->second.metadata.begin(), shard->second.metadata.end());
  }
  all.format = "shards";
  return all;
} catch (...) { rethrow_as_memory_error(index.name); }

std::string only_model_in(const std::string& directory) try {
  std::vector<std::string> indices, models;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const std::string path = entry.path().string();
    if (is_shard_index(path)) indices.push_back(path);
    for (const Format& format : formats())
      for (const std::string_view extension : format.extensions)
        if (!extension.empty() && path.ends_with(extension)) models.push_back(path);
  }
  const auto& found = indices.empty() ? models : indices;
  require<IoError>(found.size() == 1, "cannot read ", directory, ": it has ", found.size(),
                   indices.empty() ? " files of tensors" : " indices of shards", ", not one");
  return found[0];
} catch (...) { rethrow_as_memory_error(directory); }

void write_sharded(const TensorSource& source, const std::string& path, std::int64_t bytes) try {
  require<ArgumentError>(path.ends_with(kSafetensors) && bytes > 0, "write_sharded: ", shown(path), " in files of ",
                         bytes, " bytes: the path ends with .safetensors, and a file has a size");
  std::vector<TensorSource> shards(1);
  ShardIndex index;
  std::int64_t filled = 0;
  for (const auto& [name, tensor] : source.tensors) {
    const std::int64_t size = checked_bytes(path, name, tensor.shape, tensor.dtype);
    if (filled > 0 && size > bytes - filled) shards.emplace_back(), filled = 0;
    shards.back().tensors.emplace(name, tensor);
    filled += size;
    index.metadata.total_size += size;
  }
  const std::string stem = path.substr(0, path.size() - kSafetensors.size());
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const std::string file = shard_name(stem, i, shards.size());
    shards[i].metadata = source.metadata;
    write_tensors(shards[i], file);
    for (const auto& [name, tensor] : shards[i].tensors)
      index.weight_map.emplace(name, std::filesystem::path(file).filename().string());
  }
  save_config(index, path + std::string(kIndex));
} catch (...) { rethrow_as_memory_error(path); }

}  // namespace kiln

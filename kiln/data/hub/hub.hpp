// Data sets and models of a hub, by their names: downloaded once into the cache that other programs of the hub share.
//
//   struct Review { std::string text; std::int64_t label = 0; };
//   const auto train = hub_dataset<Review>("org/reviews", "train");
//   load(model, from_hub("org/model", "main") / "model.safetensors");
//
// The hub is Hugging Face's, or a mirror of it that HF_ENDPOINT names. Files are in the layout of its own library
// (huggingface_hub): what one has fetched the other finds.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kiln/data/download.hpp"
#include "kiln/data/parquet/parquet.hpp"

namespace kiln {

/// The one address that is known beforehand; HF_ENDPOINT and HubOptions::endpoint replace it.
inline constexpr std::string_view kHubEndpoint = "https://huggingface.co";

enum class HubKind { Model, Dataset };

struct HubOptions {
  std::string revision = "main";  // a branch, a tag or a commit of 40 digits
  std::string config{};           // of a data set that has several: the folder of one
  std::string endpoint{};         // empty: HF_ENDPOINT, or kHubEndpoint
  std::filesystem::path cache{};  // empty: HF_HUB_CACHE, HF_HOME/hub, XDG_CACHE_HOME/huggingface/hub, or below ~/.cache
  std::string token{};            // empty: HF_TOKEN, or none
  std::optional<bool> offline{};  // none: HF_HUB_OFFLINE
  int attempts = 3;               // for each file: an interrupted transfer is resumed
  int stall_seconds = 30;         // after this time without data, a transfer counts as interrupted
  DownloadProgress progress{};
};

/// The path of a file of a repository, which is downloaded unless it is in the cache; a commit that is there entirely needs
/// no network. Interrupted downloads resume, also in another process. Files that the hub stores as large ones are compared
/// with the SHA-256 that it says, others with their size. The token goes to the endpoint alone, to no host that it
/// redirects to, and stands in no message.
/// Throws ArgumentError for a name, revision, path or option that cannot be; IoError if the hub does not answer, wants a
/// token (401, 403), has no such thing (404) or wants a pause (429, with its length), if the file cannot be written, or
/// is not in the cache while offline; DataError if the file has other contents than the hub says.
std::filesystem::path hub_file(HubKind kind, std::string_view repository, std::string_view path,
                               const HubOptions& options = {});

/// The names of all files of a repository. Offline, those that the hub named for this commit, or else
/// those that are in the cache. Throws as hub_file().
std::vector<std::string> hub_files(HubKind kind, std::string_view repository, const HubOptions& options = {});

/// Downloads a model's files (settings, tokenizer, and weights as safetensors, or else PyTorch's) and returns their
/// folder: "config.json" and "model.safetensors" are in it, or what else the repository has. Throws as hub_file(), and
/// DataError if the repository has no weights.
std::filesystem::path from_hub(std::string_view repository, std::string_view revision = "main",
                               HubOptions options = {});

/// Downloads the Parquet files of a split of a data set, those of its revision or, if it has none, those into which the hub
/// has converted it (its branch refs/convert/parquet); returns their paths in order. Throws as hub_file(), and DataError if
/// there are none, some of the files that a name counts are missing, or several configurations have such a split. Offline,
/// throws IoError if a file is missing, or nothing says how many there are.
std::vector<std::string> hub_split(std::string_view repository, std::string_view split, const HubOptions& options = {});

/// The rows of hub_split(), as those of parquet_rows().
template <class Row>
DatasetPtr<Row> hub_dataset(std::string_view repository, std::string_view split, const HubOptions& options = {}) {
  std::vector<DatasetPtr<Row>> parts;
  for (const std::string& path : hub_split(repository, split, options))
    parts.push_back(parquet_rows<Row>(ParquetFile(path)));
  return share(Concatenated<Row>(std::move(parts)));
}

}  // namespace kiln

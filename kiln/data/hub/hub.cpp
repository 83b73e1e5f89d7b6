#include "kiln/data/hub/hub.hpp"

#include <algorithm>
#include <set>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/memory_error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/data/hub/cache.hpp"
#include "kiln/data/hub/names.hpp"
#include "kiln/data/hub/remote.hpp"

namespace kiln {
namespace {

namespace fs = std::filesystem;

/// One commit of a repository: in the cache, and on the server unless the program is offline.
class Repository {
 public:
  Repository(HubKind kind, std::string_view name, const HubOptions& options)
      : name_(name),
        options_(options),
        settings_(hub::settings_of(options)),
        cache_(checked(settings_.cache, name, options), kind, name),
        remote_(settings_, kind, name_, options_) {}

  /// The files of the revision, and from then on its commit.
  std::vector<std::string> files() {
    if (settings_.offline) {
      const std::string commit = cached_commit();
      auto listed = cache_.list(commit);
      knows_all_ = listed.has_value();
      return listed ? *std::move(listed) : cache_.files(commit);
    }
    hub::Listing listing = remote_.list();
    commit_ = listing.commit;
    cache_.set_list(commit_, listing.files);
    cache_.set_commit(options_.revision, commit_);
    return std::move(listing.files);
  }

  fs::path file(std::string_view path) {
    require<ArgumentError>(hub::is_inner_path(path), "hub: ", name_, ": '", shown(path),
                           "' is no path in a repository");
    if (commit_.empty() && hub::is_commit(options_.revision)) commit_ = options_.revision;
    if (settings_.offline) commit_ = cached_commit();
    if (commit_.empty()) files();
    const fs::path there = cache_.snapshot(commit_) / path;
    if (cache_.has(commit_, path)) return there;
    require<IoError>(!settings_.offline, "hub: ", name_, ": ", shown(path), " is not in ", cache_.folder().string(),
                     ", and the program is offline (HF_HUB_OFFLINE or HubOptions::offline)");
    const hub::RemoteFile file = remote_.find(commit_, path);
    remote_.fetch(file, path, cache_.blob(file.etag));
    cache_.link(commit_, path, file.etag);
    return there;
  }

  /// Were the files those of the revision, and not only those in the cache?
  bool knows_all() const { return knows_all_; }

  fs::path snapshot() const { return cache_.snapshot(commit_); }

 private:
  static const fs::path& checked(const fs::path& cache, std::string_view name, const HubOptions& options) {
    require<ArgumentError>(hub::is_repository(name), "hub: '", shown(name),
                           "' is no name of a repository: it has the form org/name");
    require<ArgumentError>(hub::is_inner_path(options.revision), "hub: ", name, ": the revision '",
                           shown(options.revision), "' cannot be");
    require<ArgumentError>(options.attempts >= 1 && options.stall_seconds >= 1, "hub: ", options.attempts,
                           " attempts of ", options.stall_seconds, " s: both must be at least 1");
    return cache;
  }

  std::string cached_commit() const {
    const auto commit = cache_.commit_of(options_.revision);
    require<IoError>(commit.has_value(), "hub: ", name_, " at ", shown(options_.revision), " is not in ",
                     cache_.folder().string(), ", and the program is offline (HF_HUB_OFFLINE or HubOptions::offline)");
    return *commit;
  }

  std::string name_;
  HubOptions options_;
  hub::Settings settings_;
  hub::Cache cache_;
  hub::Remote remote_;
  std::string commit_;  // empty while it is unknown
  bool knows_all_ = true;
};

bool is_of(const std::string& file, const std::string& config) {
  return config.empty() || file.starts_with(config + '/') || file.find('/' + config + '/') != file.npos;
}

std::set<fs::path> split_of(const std::vector<std::string>& files, std::string_view split, const std::string& config) {
  std::set<fs::path> found;
  for (const std::string& file : files)
    if (is_of(file, config) && parquet::is_of_split(file, split)) found.insert(file);
  return found;
}

/// Is it one of the files that from_hub() downloads, apart from weights?
bool is_setting(const fs::path& file) {
  constexpr std::string_view kKinds[] = {".json", ".txt", ".model", ".jinja"};
  return file.parent_path().empty() && std::ranges::find(kKinds, file.extension().string()) != std::end(kKinds);
}

}  // namespace

fs::path hub_file(HubKind kind, std::string_view repository, std::string_view path, const HubOptions& options) {
  return or_memory_error("hub", [&] { return Repository(kind, repository, options).file(path); });
}

std::vector<std::string> hub_files(HubKind kind, std::string_view repository, const HubOptions& options) {
  return or_memory_error("hub", [&] { return Repository(kind, repository, options).files(); });
}

fs::path from_hub(std::string_view repository, std::string_view revision, HubOptions options) {
  return or_memory_error("hub", [&] {
    options.revision = revision;
    Repository from(HubKind::Model, repository, options);
    const std::vector<std::string> files = from.files();
    const auto of_kind = [&](std::string_view extension) {
      std::vector<std::string> found;
      for (const fs::path file : files)
        if (file.parent_path().empty() && file.extension() == extension) found.push_back(file);
      return found;
    };
    std::vector<std::string> weights = of_kind(".safetensors");
    if (weights.empty()) weights = of_kind(".bin");
    require<DataError>(!weights.empty(), "hub: ", repository,
                       " has no weights as .safetensors or .bin: hub_file() fetches other files by their names");
    for (const std::string& file : files)
      if (is_setting(file)) from.file(file);
    for (const std::string& file : weights) from.file(file);
    return from.snapshot();
  });
}

std::vector<std::string> hub_split(std::string_view repository, std::string_view split, const HubOptions& options) {
  return or_memory_error("hub", [&] {
    Repository original(HubKind::Dataset, repository, options);
    std::vector<std::string> paths;
    const auto fetch = [&](Repository& from, const std::set<fs::path>& files) {
      parquet::require_whole(files, text("hub: ", repository), split);
      for (const fs::path& file : files)
        require<IoError>(from.knows_all() || file.stem().string().find("-of-") != std::string::npos,
                         "hub: ", repository, ": the cache does not say whether it has all files of '", shown(split),
                         "', whose names do not count them: read it once without HF_HUB_OFFLINE or "
                         "HubOptions::offline");
      for (const fs::path& file : files) paths.push_back(from.file(file.string()).string());
      return paths;
    };
    if (const auto files = split_of(original.files(), split, options.config); !files.empty())
      return fetch(original, files);
    HubOptions of_converted = options;
    of_converted.revision = "refs/convert/parquet";
    Repository converted(HubKind::Dataset, repository, of_converted);
    return fetch(converted, split_of(converted.files(), split, options.config));
  });
}

}  // namespace kiln

// The folder of one repository in a hub's cache, in the layout of huggingface_hub:
//
//   models--org--name/refs/main                        the commit of a branch
//   models--org--name/lists/COMMIT                     the names of all files, each a line; Kiln's own
//   models--org--name/blobs/ETAG                       contents, by the name that the server gives them
//   models--org--name/snapshots/COMMIT/path/of/file    symbolic links to blobs
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/data/hub/hub.hpp"

namespace kiln::hub {

class Cache {
 public:
  Cache(const std::filesystem::path& root, HubKind kind, std::string_view repository);

  const std::filesystem::path& folder() const { return folder_; }
  /// The commit that a branch had when it was last asked for; none if it was not.
  std::optional<std::string> commit_of(std::string_view revision) const;
  /// Throws IoError.
  void set_commit(std::string_view revision, std::string_view commit) const;

  /// The names of all files of a commit, those that are not in the cache too; none if they are not known.
  std::optional<std::vector<std::string>> list(std::string_view commit) const;
  /// Keeps them, unless the cache cannot be written.
  void set_list(std::string_view commit, const std::vector<std::string>& names) const;

  std::filesystem::path snapshot(std::string_view commit) const { return folder_ / "snapshots" / commit; }
  std::filesystem::path blob(std::string_view etag) const { return folder_ / "blobs" / etag; }
  /// Is the file there, and not only a link whose blob was removed?
  bool has(std::string_view commit, std::string_view path) const;
  /// The files of a commit that are there.
  std::vector<std::string> files(std::string_view commit) const;
  /// Makes the file of a commit a link to a blob, or a copy where the file system has no links. Throws IoError.
  void link(std::string_view commit, std::string_view path, std::string_view etag) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace kiln::hub

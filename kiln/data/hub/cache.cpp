#include "kiln/data/hub/cache.hpp"

#include <algorithm>
#include <utility>

#include "kiln/core/error/error.hpp"
#include "kiln/core/file.hpp"
#include "kiln/core/folder.hpp"
#include "kiln/data/hub/names.hpp"

namespace kiln::hub {

namespace fs = std::filesystem;

Cache::Cache(const fs::path& root, HubKind kind, std::string_view repository) {
  std::string name = kind == HubKind::Model ? "models--" : "datasets--";
  for (const char c : repository) name += c == '/' ? "--" : std::string(1, c);
  folder_ = root / name;
}

std::optional<std::string> Cache::commit_of(std::string_view revision) const {
  if (is_commit(revision)) return std::string(revision);
  const fs::path file = folder_ / "refs" / revision;
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored) || fs::file_size(file, ignored) > 100) return std::nullopt;
  std::string commit = read_text_file(file.string());
  while (!commit.empty() && (commit.back() == '\n' || commit.back() == ' ')) commit.pop_back();
  return is_commit(commit) ? std::optional(commit) : std::nullopt;
}

namespace {

void make_folder(const fs::path& folder) {
  std::error_code problem;
  fs::create_directories(folder, problem);
  require<IoError>(!problem, "hub: ", folder.string(), " cannot be made: ", problem.message());
}

}  // namespace

void Cache::set_commit(std::string_view revision, std::string_view commit) const {
  if (is_commit(revision) || commit_of(revision) == commit) return;
  const fs::path file = folder_ / "refs" / revision;
  make_folder(file.parent_path());
  write_file_atomically(file.string(), commit);
}

bool Cache::has(std::string_view commit, std::string_view path) const {
  std::error_code ignored;
  return fs::is_regular_file(snapshot(commit) / path, ignored);
}

std::vector<std::string> Cache::files(std::string_view commit) const {
  std::vector<std::string> found;
  std::error_code ignored;
  const fs::path folder = snapshot(commit);
  std::vector<fs::path> left{folder};
  while (!left.empty()) {
    const fs::path path = std::move(left.back());
    left.pop_back();
    if (fs::is_directory(fs::symlink_status(path, ignored)))
      for (fs::path& inner : paths_in(path, ignored)) left.push_back(std::move(inner));
    else if (fs::is_regular_file(path, ignored)) found.push_back(path.lexically_relative(folder).string());
  }
  std::ranges::sort(found);
  return found;
}

void Cache::link(std::string_view commit, std::string_view path, std::string_view etag) const {
  const fs::path file = snapshot(commit) / path, target = blob(etag);
  make_folder(file.parent_path());
  std::error_code problem, ignored;
  // Made under another name first: whoever looks meanwhile finds the old file, or the new one.
  const fs::path beside = fs::path(file) += text(".new-", etag.substr(0, 8));
  fs::remove(beside, ignored);
  fs::create_symlink(target.lexically_relative(file.parent_path()), beside, problem);
  if (problem) fs::copy_file(target, beside, problem = {});
  if (!problem) fs::rename(beside, file, problem);
  require<IoError>(!problem, "hub: ", file.string(), " cannot be made: ", problem.message());
}

}  // namespace kiln::hub

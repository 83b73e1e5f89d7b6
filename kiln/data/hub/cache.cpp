#include "kiln/data/hub/cache.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include <unistd.h>

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

std::optional<std::vector<std::string>> Cache::list(std::string_view commit) const {
  const fs::path file = folder_ / "lists" / commit;
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return std::nullopt;
  const std::string lines = read_text_file(file.string());
  std::vector<std::string> names;
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', at), lines.size());
    names.push_back(lines.substr(at, end - at));
    require<DataError>(is_inner_path(names.back()), "hub: ", file.string(), ": line ", names.size(),
                       " is no path in a repository: remove the file");
    at = end + 1;
  }
  return names;
}

void Cache::set_list(std::string_view commit, const std::vector<std::string>& names) const {
  const fs::path file = folder_ / "lists" / commit;
  std::error_code ignored;
  if (fs::is_regular_file(file, ignored)) return;  // a commit never changes
  std::string lines;
  for (const std::string& name : names) lines += name + '\n';
  try {
    make_folder(file.parent_path());
    write_file_atomically(file.string(), lines);
  } catch (const IoError&) {  // a cache that is only read stays of use
  }
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
  // Each process and thread has its own.
  static std::atomic<unsigned> count{0};
  const fs::path beside = fs::path(file) += text(".new-", ::getpid(), '-', ++count);
  fs::remove(beside, ignored);
  fs::create_symlink(target.lexically_relative(file.parent_path()), beside, problem);
  if (problem) fs::copy_file(target, beside, problem = {});
  if (!problem) fs::rename(beside, file, problem);
  if (problem) {
    fs::remove(beside, ignored);
    if (has(commit, path)) return;  // by another
  }
  require<IoError>(!problem, "hub: ", file.string(), " cannot be made: ", problem.message());
}

}  // namespace kiln::hub

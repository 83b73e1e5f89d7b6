#include "kiln/data/class_folder.hpp"

#include <algorithm>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/core/folder.hpp"

namespace kiln {

namespace fs = std::filesystem;

std::vector<fs::path> listed(const fs::path& directory) {
  std::error_code problem;
  std::vector<fs::path> paths;
  for (const fs::path& path : paths_in(directory, problem))
    if (!path.filename().string().starts_with('.')) paths.push_back(path);
  require<IoError>(!problem, "cannot read the directory ", shown(directory.string()), ": ", problem.message());
  std::ranges::sort(paths);
  return paths;
}

bool has_ending(const fs::path& path, const std::vector<std::string_view>& endings) {
  std::string ending = path.extension().string();
  std::ranges::transform(ending, ending.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return std::ranges::find(endings, ending) != endings.end();
}

namespace {

void add_files(const fs::path& directory, const std::vector<std::string_view>& endings, std::int64_t label,
               ClassFolder& found) {
  for (const fs::path& path : listed(directory)) {
    std::error_code ignored;
    if (fs::is_directory(fs::symlink_status(path, ignored))) add_files(path, endings, label, found);
    else if (has_ending(path, endings)) found.files.push_back({path.string(), label});
    else found.left_out.push_back(path.string());
  }
}

}  // namespace

ClassFolder files_by_class(const fs::path& directory, const std::vector<std::string_view>& endings,
                           std::string_view of) {
  ClassFolder folder;
  for (const fs::path& path : listed(directory)) {
    std::error_code ignored;
    const std::string name = path.filename().string();
    if (!fs::is_directory(path, ignored) || name.starts_with('_')) continue;
    const std::size_t before = folder.files.size();
    add_files(path, endings, std::ssize(folder.classes), folder);
    require<DataError>(folder.files.size() > before, "the class ", shown(path.string()), " has no ", of);
    folder.classes.push_back(name);
  }
  require<DataError>(!folder.classes.empty(), shown(directory.string()), " has no folder, which would be a class of ",
                     of.substr(0, of.find(':')), "s");
  return folder;
}

}  // namespace kiln

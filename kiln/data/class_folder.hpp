// Files in folders that are named after their classes: `photos/cat/1.jpg`, `reviews/good/17.txt`, `words/left/a.wav`.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {

/// The entries of a directory, sorted by name, without hidden files. Throws IoError.
std::vector<std::filesystem::path> listed(const std::filesystem::path& directory);
/// Does the name end with one of these endings, which are lower case (".jpg" matches "A.JPG")?
bool has_ending(const std::filesystem::path& path, const std::vector<std::string_view>& endings);

struct ClassFolder {
  struct File {
    std::string path;
    std::int64_t label;
  };
  std::vector<std::string> classes;
  std::vector<File> files;
  std::vector<std::string> left_out;  // paths in folders of classes that have other endings
};
/// Classes are numbered in the order of their names, and files sorted by their paths; folders within those of classes
/// are searched, too. Folders that begin with "_" (_background_noise_) are no classes. `of` describes the files in
/// errors: "picture: no PNG or JPEG file". Throws DataError if there is no class, or one has no such file; IoError.
ClassFolder files_by_class(const std::filesystem::path& directory, const std::vector<std::string_view>& endings,
                           std::string_view of);

}  // namespace kiln

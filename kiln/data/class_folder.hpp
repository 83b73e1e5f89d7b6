// Files in folders that are their classes: `photos/cat/1.jpg`, `reviews/good/17.txt`, `words/left/a.wav`.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace kiln {

/// What lies in a directory, by name; hidden files count for none. Throws IoError.
std::vector<std::filesystem::path> listed(const std::filesystem::path& directory);
/// Whether the name ends with one of these, which are in small letters: ".jpg" of "A.JPG".
bool has_ending(const std::filesystem::path& path, const std::vector<std::string_view>& endings);

struct ClassFolder {
  struct File {
    std::string path;
    std::int64_t label;
  };
  std::vector<std::string> classes;
  std::vector<File> files;
};
/// Classes are numbered in the order of their names, files in that of their paths; folders in those of classes count as well.
/// Folders that begin with "_" (_background_noise_) are no classes. `of` says what the files are: "picture: no PNG or JPEG file".
/// Throws DataError where there is no class, or one has no such file; IoError.
ClassFolder files_by_class(const std::filesystem::path& directory, const std::vector<std::string_view>& endings,
                           std::string_view of);

}  // namespace kiln

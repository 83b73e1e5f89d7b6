// Compiled kernels on the disk, so that the next process need not compile them; and other bytes that take long to make.
// Several processes may use a folder at once; what is not there, damaged or cannot be read is made again, and nothing here is
// an error. A folder that other users may write is not used, which is said once.
#pragma once
#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace kiln::cuda {

class CodeCache {
 public:
  /// $KILN_CACHE/cuda, or cuda in Kiln's folder of the user's cache; none where KILN_CACHE is 0 or nobody has a home.
  CodeCache() : CodeCache(named("cuda")) {}
  /// Another folder there.
  static CodeCache named(const char* folder);
  explicit CodeCache(std::optional<std::filesystem::path> folder) : folder_(std::move(folder)) {}

  /// `key` is all that the code depends on.
  std::optional<std::vector<std::byte>> find(std::string_view key) const;
  void keep(std::string_view key, std::span<const std::byte> code) const;

 private:
  void warn_of_others() const;
  std::filesystem::path file_of(std::string_view key) const;

  std::optional<std::filesystem::path> folder_;
};

}  // namespace kiln::cuda

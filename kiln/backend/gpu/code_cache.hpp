// A cache on disk of compiled kernels, so that the next process need not compile them, and of other bytes that take
// long to compute. Several processes may share a folder; what is missing, damaged or unreadable is computed again, and
// nothing here throws. A folder that other users may write to is not used, which is reported once.
#pragma once
#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace kiln::gpu {

class CodeCache {
 public:
  /// $KILN_CACHE/`folder`, or `folder` in Kiln's folder of the user's cache; disabled if KILN_CACHE is 0 or there is no
  /// home folder.
  static CodeCache named(const char* folder);
  explicit CodeCache(std::optional<std::filesystem::path> folder) : folder_(std::move(folder)) {}

  /// `key` holds all that the code depends on.
  std::optional<std::vector<std::byte>> find(std::string_view key) const;
  void keep(std::string_view key, std::span<const std::byte> code) const;

 private:
  void warn_of_others() const;
  std::filesystem::path file_of(std::string_view key) const;

  std::optional<std::filesystem::path> folder_;
};

}  // namespace kiln::gpu

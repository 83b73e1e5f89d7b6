// Texts in folders that are named after their classes: `reviews/good/17.txt`.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "kiln/data/class_folder.hpp"
#include "kiln/data/dataset.hpp"

namespace kiln {

struct LabelledText {
  std::string text;
  std::int64_t label = 0;
};

/// Each file is a text, read on access.
class TextFolder final : public Dataset<LabelledText> {
 public:
  /// Throws like files_by_class(). A text of more than `most_bytes` throws on access.
  explicit TextFolder(const std::filesystem::path& directory, std::uint64_t most_bytes = std::uint64_t{1} << 26)
      : folder_(files_by_class(directory, {".txt"}, "text: no .txt file")), most_bytes_(most_bytes) {}

  std::int64_t size() const override { return std::ssize(folder_.files); }
  const std::vector<std::string>& classes() const { return folder_.classes; }

 private:
  LabelledText item(std::int64_t index) const override;

  ClassFolder folder_;
  std::uint64_t most_bytes_;
};

}  // namespace kiln

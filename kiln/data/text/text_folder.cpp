#include "kiln/data/text/text_folder.hpp"

#include "kiln/core/error/shown.hpp"
#include "kiln/core/file.hpp"

namespace kiln {

LabelledText TextFolder::item(std::int64_t index) const {
  const ClassFolder::File& file = folder_.files[static_cast<std::size_t>(index)];
  std::error_code ignored;
  const auto bytes = std::filesystem::file_size(file.path, ignored);
  require<DataError>(ignored || bytes <= most_bytes_, shown(file.path), ": has ", bytes, " bytes, more than the ",
                     most_bytes_, " that are allowed");
  return {read_text_file(file.path), file.label};
}

}  // namespace kiln

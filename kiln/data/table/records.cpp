#include "kiln/data/table/records.hpp"

#include <algorithm>

#include "kiln/core/text.hpp"

namespace kiln {

std::string_view text_of(const FileBytes& file) {
  return {reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size()};
}

std::size_t behind_byte_order_mark(std::string_view text) { return text.starts_with("\xef\xbb\xbf") ? 3 : 0; }

std::string place_in(std::string_view name, std::string_view text, std::size_t at) {
  return kiln::text(name, ':', std::ranges::count(text.substr(0, at), '\n') + 1);
}

std::string_view Records::at(std::int64_t index) const {
  const auto i = static_cast<std::size_t>(index);
  const std::string_view text = text_of(file_);
  const std::size_t end = i + 1 < begins_.size() ? begins_[i + 1] : text.size();
  return text.substr(begins_[i], end - begins_[i]);
}

std::string Records::place(std::int64_t index) const {
  return place_in(file_.name, text_of(file_), begins_[static_cast<std::size_t>(index)]);
}

}  // namespace kiln

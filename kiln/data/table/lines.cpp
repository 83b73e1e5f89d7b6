#include "kiln/data/table/lines.hpp"

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/memory_error.hpp"

namespace kiln {
namespace {

constexpr std::string_view kSpaces = " \t\r\n";

bool is_blank(std::string_view line) { return line.find_first_not_of(kSpaces) == std::string_view::npos; }

Records find_lines(FileBytes file, bool blank_ones) {
  const std::string_view text = text_of(file);
  std::vector<std::uint64_t> begins;
  for (std::size_t at = behind_byte_order_mark(text); at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    if (blank_ones || !is_blank(text.substr(at, end - at))) begins.push_back(at);
    at = end;
  }
  return {std::move(file), std::move(begins)};
}

}  // namespace

TextLines::TextLines(FileBytes file) try : records_(find_lines(std::move(file), true)) {
} catch (...) { rethrow_as_memory_error("a file of lines"); }

std::string TextLines::item(std::int64_t index) const {
  std::string_view line = records_.at(index);
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return std::string(line);
}

JsonLines::JsonLines(FileBytes file) try : records_(find_lines(std::move(file), false)) {
} catch (...) { rethrow_as_memory_error("a file of JSON lines"); }

Json JsonLines::item(std::int64_t index) const {
  const std::string_view record = records_.at(index);
  const std::string_view line = record.substr(0, record.find('\n'));
  Json json;
  // The place costs a count of lines, so it is only computed for an error.
  try {
    return parse_json(line, "");
  } catch (const ConfigError&) {
    as_data([&] { json = parse_json(line, place(index)); });
  }
  return json;
}

void as_data(FunctionRef<void()> read) {
  try {
    read();
  } catch (const ConfigError& error) { raise(ErrorKind::Data, std::string(error.message())); }
}

}  // namespace kiln

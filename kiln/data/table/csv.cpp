#include "kiln/data/table/csv.hpp"

#include <algorithm>
#include <unordered_set>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/memory_error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/core/error/suggest.hpp"
#include "kiln/core/trimmed.hpp"

namespace kiln {
namespace {

struct Scanned {
  std::size_t end = 0, fields = 0;  // the end of the record's last line; its number of fields
  std::string problem{};
};

/// Scans the record at `at`, and appends its fields to `fields` if that is not null.
Scanned scan_record(std::string_view text, std::size_t at, char delimiter, std::vector<std::string>* fields) {
  const char ends[] = {delimiter, '\n'};
  for (Scanned scanned{.end = at};;) {
    std::string* field = fields ? &fields->emplace_back() : nullptr;
    ++scanned.fields;
    const bool quoted = at < text.size() && text[at] == '"';
    while (quoted) {  // a quote within quotes is doubled
      const std::size_t close = text.find('"', at + 1);
      if (close == std::string_view::npos) return scanned.problem = "has a quote that does not end", scanned;
      if (field) field->append(text.substr(at + 1, close - at - 1));
      at = close + 1;
      if (at == text.size() || text[at] != '"') break;
      if (field) *field += '"';
    }
    const std::size_t end = std::min(text.find_first_of(std::string_view(ends, 2), at), text.size());
    std::string_view rest = text.substr(at, end - at);
    if (rest.ends_with('\r') && (end == text.size() || text[end] == '\n')) rest.remove_suffix(1);
    if (quoted && !rest.empty())
      return scanned.problem = kiln::text("field ", scanned.fields, " has '", shown(rest), "' after its quotes"),
             scanned;
    if (field) field->append(rest);
    at = std::min(end + 1, text.size());
    if (end < text.size() && text[end] == delimiter) {
      if (at < text.size()) continue;
      ++scanned.fields;  // the file ends with a delimiter: one more field, which is empty
      if (fields) fields->emplace_back();
    }
    scanned.end = at;
    return scanned;
  }
}

bool is_line_end(char c) { return c == '\n' || c == '\r'; }

std::string_view first_line(std::string_view text) {
  text.remove_prefix(behind_byte_order_mark(text));
  return text.substr(0, text.find('\n'));
}

/// Returns advice for a file of one column, where `line`, its first, has another delimiter; an empty text if not.
std::string other_delimiter(std::string_view line, char delimiter) {
  for (const char other : {';', '\t', '|', ','})
    if (other != delimiter && line.find(other) != line.npos)
      return text("; its first line has '", other == '\t' ? "\\t" : std::string(1, other),
                  "' in it: CsvFormat{.delimiter = '", other == '\t' ? "\\t" : std::string(1, other),
                  "'} separates by it");
  return "";
}

}  // namespace

CsvFile::CsvFile(FileBytes file, const CsvFormat& format) try : format_(format), records_({}, {}) {
  require<ArgumentError>(format.delimiter != '"' && !is_line_end(format.delimiter),
                         "CSV: quotes and ends of lines cannot be delimiters");
  const std::string_view text = text_of(file);
  std::vector<std::uint64_t> begins;
  bool named = !format.header;
  for (std::size_t at = behind_byte_order_mark(text); at < text.size();) {
    if (is_line_end(text[at])) {
      ++at;
      continue;
    }
    const Scanned scanned = scan_record(text, at, format.delimiter, named ? nullptr : &columns_);
    if (!scanned.problem.empty()) fail<DataError>(place_in(file.name, text, at), ": ", scanned.problem);
    if (width_ == 0) width_ = scanned.fields;
    if (scanned.fields != width_)
      fail<DataError>(place_in(file.name, text, at), ": has ", scanned.fields, " fields, the first record has ", width_,
                      width_ == 1 ? other_delimiter(first_line(text), format.delimiter) : "");
    if (named) begins.push_back(at);
    named = true;
    at = scanned.end;
  }
  require<DataError>(named, file.name, ": holds no header with the names of its columns");
  std::unordered_set<std::string_view> names;
  for (const std::string& column : columns_)
    if (!names.insert(column).second) fail<DataError>(file.name, ": two columns are named '", shown(column), "'");
  records_ = Records(std::move(file), std::move(begins));
} catch (...) { rethrow_as_memory_error("a CSV file"); }

namespace {

/// "; it has 'a', 'b', ...": the first columns.
std::string listed(const std::vector<std::string>& columns) {
  constexpr std::size_t kMost = 12;
  std::string list = columns.empty() ? "; its columns have no names" : "; it has ";
  for (std::size_t i = 0; i < std::min(columns.size(), kMost); ++i)
    list += text(i == 0 ? "'" : ", '", shown(columns[i]), "'");
  return columns.size() > kMost ? list + text(" and ", columns.size() - kMost, " more") : list;
}

}  // namespace

std::size_t CsvFile::column(std::string_view name) const {
  const auto place = std::ranges::find(columns_, name);
  if (place != columns_.end()) return static_cast<std::size_t>(place - columns_.begin());
  const std::vector<std::string_view> names(columns_.begin(), columns_.end());
  const std::string guess = did_you_mean(name, names);
  const std::string delimiter = columns_.size() == 1 ? other_delimiter(columns_[0], format_.delimiter) : "";
  fail<DataError>(records_.name(), ": has no column '", shown(name), "'",
                  !delimiter.empty() ? delimiter
                  : guess.empty()    ? listed(columns_)
                                     : guess);
}

bool CsvFile::is_missing(std::string_view cell) const {
  const std::string_view content = csv::trimmed(cell);
  return content.empty() || std::ranges::find(format_.missing, content, csv::trimmed) != format_.missing.end();
}

std::vector<std::string> CsvFile::item(std::int64_t index) const {
  std::vector<std::string> fields;
  fields.reserve(width_);
  scan_record(records_.at(index), 0, format_.delimiter, &fields);
  return fields;
}

namespace csv {

std::string_view trimmed(std::string_view text) { return kiln::trimmed(text, " \t"); }

bool read_flag(std::string_view text, bool& value) {
  value = text == "true" || text == "True" || text == "1";
  return value || text == "false" || text == "False" || text == "0";
}

std::string why_no_number(std::string_view text, bool whole) {
  const std::string sentence = whole ? "is no whole number" : "is no number";
  constexpr std::string_view kNone[] = {"NA",   "N/A",  "#N/A", "na", "n/a", "NaN", "nan",
                                        "NULL", "null", "None", "?",  "-",   "."};
  if (std::ranges::find(kNone, text) != std::end(kNone))
    return kiln::text(sentence, "; CsvFormat{.missing = {\"", text,
                      "\"}} and a field of type std::optional take it as missing");
  if (text.find_first_not_of("0123456789+-,.eE") != text.npos) return sentence;
  if (text.find(',') != text.npos) return sentence + ": it has a comma in it; numbers are written as 1234.5";
  return whole && text.find_first_of(".eE") != text.npos ? sentence + "; a field of type double takes it" : sentence;
}

std::string why_none_of(std::string_view type, std::string_view text, std::span<const std::string_view> names) {
  constexpr std::size_t kMost = 12;
  std::string sentence =
      kiln::text("is no ", type, did_you_mean(text, names), names.empty() ? "" : ", which is one of ");
  for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i) sentence += kiln::text(i ? ", " : "", names[i]);
  return names.size() > kMost ? sentence + ", ..." : sentence;
}

void fail_cell(const CsvFile& file, std::int64_t row, std::size_t column, std::string_view text,
               std::string_view problem) {
  const std::string where =
      file.columns().empty() ? kiln::text(column + 1) : '\'' + shown(file.columns()[column]) + '\'';
  fail<DataError>(file.place(row), ": column ", where, ": '", shown(text), "' ", problem);
}

std::vector<std::size_t> columns_of(const CsvFile& file, std::span<const std::string_view> fields) try {
  std::vector<std::size_t> columns;
  require<DataError>(
      !file.columns().empty() || file.size() == 0 || file.width() == fields.size(), file.name(), ": has ", file.width(),
      " columns without names, not the ", fields.size(), " that are read from it",
      file.width() == 1 && file.size() > 0 ? other_delimiter(file.get(0)[0], file.format().delimiter) : "");
  for (const auto field : fields) columns.push_back(file.columns().empty() ? columns.size() : file.column(field));
  return columns;
} catch (...) { rethrow_as_memory_error(file.name()); }

}  // namespace csv
}  // namespace kiln

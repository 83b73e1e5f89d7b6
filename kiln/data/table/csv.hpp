// Comma-separated values (RFC 4180) as data sets of lists of texts, or of structs whose fields are the columns.
//
//   struct District { double median_income = 0; std::optional<double> total_bedrooms; std::string ocean_proximity; };
//   const auto districts = csv_rows<District>(CsvFile("housing.csv"));
#pragma once
#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "kiln/core/parse_number.hpp"
#include "kiln/core/reflect/reflect_enum.hpp"
#include "kiln/core/reflect/reflect_values.hpp"
#include "kiln/data/dataset.hpp"
#include "kiln/data/table/records.hpp"

namespace kiln {

struct CsvFormat {
  char delimiter = ',';
  bool header = true;  // does the first record name the columns?
  /// Texts that a std::optional reads as none, as it does an empty cell: {"NA", "?"}.
  std::vector<std::string> missing = {};
};

/// The records of a file, as lists of their fields. Empty lines are ignored.
class CsvFile final : public Dataset<std::vector<std::string>> {
 public:
  /// Scans the whole file once. Throws IoError; ArgumentError for a delimiter that is a quote or a line end; DataError
  /// with file and line for a quote that is not closed or is followed by more than a delimiter, a record whose number
  /// of fields differs from the first, a duplicate column name, and a file without the expected header.
  explicit CsvFile(const std::string& path, const CsvFormat& format = {}) : CsvFile(map_file(path), format) {}
  explicit CsvFile(FileBytes file, const CsvFormat& format = {});

  std::int64_t size() const override { return records_.size(); }
  /// The names of the columns; empty without a header.
  const std::vector<std::string>& columns() const { return columns_; }
  /// The number of fields per record; 0 if there are no records.
  std::size_t width() const { return width_; }
  /// The column of that name. Throws DataError.
  std::size_t column(std::string_view name) const;
  /// The name of a row in error messages: "housing.csv:17".
  std::string place(std::int64_t index) const { return records_.place(index); }
  const std::string& name() const { return records_.name(); }
  const CsvFormat& format() const { return format_; }
  /// Does the cell hold no value, being empty or one of CsvFormat::missing?
  bool is_missing(std::string_view cell) const;

 private:
  std::vector<std::string> item(std::int64_t index) const override;

  CsvFormat format_;
  std::vector<std::string> columns_;
  std::size_t width_ = 0;
  Records records_;
};

namespace csv {

/// Removes spaces at both ends.
std::string_view trimmed(std::string_view text);
bool read_flag(std::string_view text, bool& value);
constexpr std::string_view kMissing = "is missing; a field of type std::optional takes missing cells";
/// Why a text is no number, and what takes it.
std::string why_no_number(std::string_view text, bool whole);
std::string why_none_of(std::string_view type, std::string_view text, std::span<const std::string_view> names);

/// Why the text cannot be read as a T; empty if it can.
template <class T>
std::string read_cell(std::string_view text, T& value, bool missing) {
  if constexpr (reflect::OptionalLike<T>) {
    value.reset();
    return missing ? "" : read_cell(text, value.emplace(), false);
  } else if constexpr (std::same_as<T, std::string>) {
    value = text;
    return "";
  } else if constexpr (std::same_as<T, bool>) {
    return read_flag(trimmed(text), value) ? "" : missing ? std::string(kMissing) : "is neither true nor false";
  } else if constexpr (reflect::ScopedEnum<T>) {
    std::vector<std::string_view> names;
    for (const auto& [enumerator, name] : reflect::enumerators<T>()) {
      if (name == trimmed(text)) return value = enumerator, "";
      names.push_back(name);
    }
    return missing ? std::string(kMissing) : why_none_of(reflect::type_name<T>(), trimmed(text), names);
  } else {
    static_assert(std::integral<T> || std::floating_point<T>, "a column is not read as this type");
    std::string_view digits = trimmed(text);
    if (digits.starts_with('+') && !digits.starts_with("+-")) digits.remove_prefix(1);
    const auto [end, problem] = parse_number(digits.data(), digits.data() + digits.size(), value);
    if (problem == std::errc::result_out_of_range) return "is too large or too small a number";
    if (problem == std::errc() && end == digits.data() + digits.size()) return "";
    return missing ? std::string(kMissing) : why_no_number(digits, std::integral<T>);
  }
}

[[noreturn]] void fail_cell(const CsvFile& file, std::int64_t row, std::size_t column, std::string_view text,
                            std::string_view problem);
/// The column of each field: the one of its name, or without a header the one at its position. Throws DataError.
std::vector<std::size_t> columns_of(const CsvFile& file, std::span<const std::string_view> fields);

}  // namespace csv

/// Each record as a Row, whose fields are texts, numbers, bool, enums and optionals of these (a missing cell is none).
template <class Row>
class CsvRows final : public Dataset<Row> {
 public:
  /// Columns without a field in Row are ignored. Throws DataError if one is missing.
  explicit CsvRows(CsvFile file)
      : file_(std::move(file)), columns_(csv::columns_of(file_, reflect::field_names<Row>())) {}
  std::int64_t size() const override { return file_.size(); }

 private:
  Row item(std::int64_t index) const override {
    const std::vector<std::string> record = file_.get(index);
    Row row{};
    std::size_t field = 0;
    reflect::for_each_field(row, [&](std::string_view, auto& value) {
      const std::size_t column = columns_[field++];
      if (const std::string problem = csv::read_cell(record[column], value, file_.is_missing(record[column]));
          !problem.empty())
        csv::fail_cell(file_, index, column, record[column], problem);
    });
    return row;
  }
  CsvFile file_;
  std::vector<std::size_t> columns_;
};

/// Rows are read on access; a record that does not fit Row throws a DataError then, with file, line and column.
template <class Row>
DatasetPtr<Row> csv_rows(CsvFile file) {
  return share(CsvRows<Row>(std::move(file)));
}

}  // namespace kiln

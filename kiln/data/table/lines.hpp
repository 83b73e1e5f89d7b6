// Files of lines as data sets: plain texts, and JSON lines, where each line is a value.
//
//   struct Review { std::string text; int stars = 0; };
//   const auto reviews = json_lines<Review>("reviews.jsonl");
#pragma once
#include <string>
#include <utility>

#include "kiln/core/config/config.hpp"
#include "kiln/core/function_ref.hpp"
#include "kiln/data/dataset.hpp"
#include "kiln/data/table/records.hpp"

namespace kiln {

/// The lines of a text without their ends, "\n" or "\r\n"; includes empty ones.
class TextLines final : public Dataset<std::string> {
 public:
  /// Throws IoError.
  explicit TextLines(const std::string& path) : TextLines(map_file(path)) {}
  explicit TextLines(FileBytes file);

  std::int64_t size() const override { return records_.size(); }

 private:
  std::string item(std::int64_t index) const override;
  Records records_;
};

/// The values of a file of JSON lines; blank lines are ignored.
class JsonLines final : public Dataset<Json> {
 public:
  /// Throws IoError.
  explicit JsonLines(const std::string& path) : JsonLines(map_file(path)) {}
  explicit JsonLines(FileBytes file);

  std::int64_t size() const override { return records_.size(); }
  /// The name of a line in error messages: "reviews.jsonl:17".
  std::string place(std::int64_t index) const { return records_.place(index); }

 private:
  /// Throws DataError, which names the line, if it is not JSON.
  Json item(std::int64_t index) const override;
  Records records_;
};

/// Calls `read`, and turns its ConfigError into a DataError that names the place in a data file.
void as_data(FunctionRef<void()> read);

/// Each line as a T, by the rules of configs: a key for each field, and no unknown keys.
template <class T>
class JsonRows final : public Dataset<T> {
 public:
  explicit JsonRows(JsonLines lines) : lines_(std::move(lines)) {}
  std::int64_t size() const override { return lines_.size(); }

 private:
  T item(std::int64_t index) const override {
    const Json json = lines_.get(index);
    T value{};
    as_data([&] {
      const std::string place = lines_.place(index);
      value = from_json<T>(json, place);
    });
    return value;
  }
  JsonLines lines_;
};

/// The T of each line, read on access; throws a DataError with file, line and key if it does not fit. `collected`
/// (kiln/data/compose/kept.hpp) reads all at once.
template <class T>
DatasetPtr<T> json_lines(const std::string& path) {
  return share(JsonRows<T>(JsonLines(path)));
}

}  // namespace kiln

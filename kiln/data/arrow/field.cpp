#include "kiln/data/arrow/field.hpp"

#include <charconv>
#include <optional>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"

namespace kiln::arrow {
namespace {

constexpr int kMostLevels = 64;
constexpr std::int32_t kMostScale = 200;

struct Row {
  std::string_view format;
  Type type;
};

// Formats of one meaning each; those with parameters are below.
constexpr Row kFormats[] = {
    {"n", {Layout::Nothing}},       {"b", {Layout::Bits}},
    {"c", {Layout::Integers, 1}},   {"C", {Layout::Integers, 1, false}},
    {"s", {Layout::Integers, 2}},   {"S", {Layout::Integers, 2, false}},
    {"i", {Layout::Integers, 4}},   {"I", {Layout::Integers, 4, false}},
    {"l", {Layout::Integers, 8}},   {"L", {Layout::Integers, 8, false}},
    {"e", {Layout::Floats, 2}},     {"f", {Layout::Floats, 4}},
    {"g", {Layout::Floats, 8}},     {"z", {Layout::Bytes, 4}},
    {"u", {Layout::Bytes, 4}},      {"Z", {Layout::Bytes, 8}},
    {"U", {Layout::Bytes, 8}},      {"vz", {Layout::Views, 16}},
    {"vu", {Layout::Views, 16}},    {"tdD", {Layout::Integers, 4}},  // days
    {"tdm", {Layout::Integers, 8}},                                  // milliseconds
    {"tts", {Layout::Integers, 4}}, {"ttm", {Layout::Integers, 4}},
    {"ttu", {Layout::Integers, 8}}, {"ttn", {Layout::Integers, 8}},
    {"tDs", {Layout::Integers, 8}},  // durations
    {"tDm", {Layout::Integers, 8}}, {"tDu", {Layout::Integers, 8}},
    {"tDn", {Layout::Integers, 8}}, {"+l", {Layout::Lists, 4}},
    {"+L", {Layout::Lists, 8}},     {"+s", {Layout::Structs}},
    {"+m", {Layout::Maps, 4}},
};

struct Named {
  std::string_view prefix, meaning;
};
constexpr Named kUnsupported[] = {{"+u", "a union"},     {"+r", "run-end encoded"}, {"+v", "a list view"},
                                  {"ti", "an interval"}, {"d:", "a decimal"},       {"", "unknown"}};

/// The numbers behind a prefix, separated by commas; none if it is anything else.
std::optional<std::vector<std::int32_t>> numbers_behind(std::string_view prefix, std::string_view format) {
  if (!format.starts_with(prefix)) return std::nullopt;
  std::vector<std::int32_t> numbers;
  const char *at = format.data() + prefix.size(), *const end = format.data() + format.size();
  for (;;) {
    std::int32_t number = 0;
    const auto [behind, problem] = std::from_chars(at, end, number);
    if (problem != std::errc()) return std::nullopt;
    numbers.push_back(number);
    if (behind == end) return numbers;
    if (*behind != ',') return std::nullopt;
    at = behind + 1;
  }
}

std::optional<Type> type_of(std::string_view format) {
  for (const Row& row : kFormats)
    if (row.format == format) return row.type;
  for (const std::string_view time : {"tss:", "tsm:", "tsu:", "tsn:"})
    if (format.starts_with(time)) return Type{Layout::Integers, 8};
  if (const auto size = numbers_behind("w:", format); size && size->size() == 1 && (*size)[0] >= 0)
    return Type{Layout::FixedBytes, (*size)[0]};
  if (const auto size = numbers_behind("+w:", format); size && size->size() == 1 && (*size)[0] >= 0)
    return Type{Layout::FixedLists, (*size)[0]};
  if (const auto decimal = numbers_behind("d:", format); decimal && decimal->size() >= 2 && decimal->size() <= 3) {
    const std::int32_t bits = decimal->size() == 3 ? (*decimal)[2] : 128, scale = (*decimal)[1];
    const bool fits = bits == 32 || bits == 64 || bits == 128 || bits == 256;
    if (fits && scale >= -kMostScale && scale <= kMostScale) return Type{Layout::Decimals, bits / 8, true, scale};
  }
  return std::nullopt;
}

std::int64_t children_of(Layout layout, std::int64_t said) {
  if (layout == Layout::Structs) return said;
  return layout == Layout::Lists || layout == Layout::FixedLists || layout == Layout::Maps ? 1 : 0;
}

struct Reading {
  const std::string& table;

  template <class... Words>
  void require_that(bool holds, const Field& field, const Words&... words) const {
    require<DataError>(holds, table, ": ", place_of(field), ' ', words...);
  }

  Field field(const ArrowSchema& schema, const std::string& parent, int level) const {
    Field field;
    field.name = schema.name ? schema.name : "";
    field.path = level <= 1 ? field.name : text(parent, '.', field.name);
    require_that(schema.release != nullptr, field, "was released before");
    require_that(schema.format != nullptr, field, "has no format: the pointer is null");
    require_that(level <= kMostLevels, field, "is nested deeper than ", kMostLevels, " levels");
    field.format = schema.format;
    const std::optional<Type> type = type_of(field.format);
    if (!type)
      for (const Named& each : kUnsupported)
        require_that(!field.format.starts_with(each.prefix), field, "has the format '", shown(field.format), "' (",
                     each.meaning, "), which is not supported: convert it first");
    field.type = *type;
    require_that(schema.n_children >= 0 && schema.n_children == children_of(type->layout, schema.n_children), field,
                 "has ", schema.n_children, " children, which the format '", shown(field.format), "' does not");
    require_that(schema.n_children == 0 || schema.children, field, "has children, and a null pointer to them");
    for (std::int64_t i = 0; i < schema.n_children; ++i) {
      require_that(schema.children[i] != nullptr, field, "has a null pointer as child ", i);
      field.children.push_back(this->field(*schema.children[i], field.path, level + 1));
    }
    require_that(type->layout != Layout::Maps ||
                     (field.children[0].type.layout == Layout::Structs && field.children[0].children.size() == 2),
                 field, "is a map whose entries are no structs of a key and a value");
    if (schema.dictionary) {
      require_that(type->layout == Layout::Integers, field, "has a dictionary, and '", shown(field.format),
                   "' is no integer");
      field.dictionary.push_back(this->field(*schema.dictionary, parent, level + 1));
      require_that(field.dictionary.front().dictionary.empty(), field,
                   "has a dictionary whose words are those of another dictionary, which is not supported: convert it "
                   "first");
      field.dictionary.front().name = field.name;
      field.dictionary.front().path = field.path;
    }
    return field;
  }
};

}  // namespace

std::string place_of(const Field& field) {
  return field.path.empty() ? "the table" : text("column '", shown(field.path), '\'');
}

Field field_of(const ArrowSchema& schema, const std::string& table) { return Reading{table}.field(schema, "", 0); }

}  // namespace kiln::arrow

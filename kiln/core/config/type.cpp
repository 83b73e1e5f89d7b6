#include "kiln/core/config/type.hpp"

#include <cstring>
#include <limits>
#include <utility>

#include "kiln/core/error/suggest.hpp"

namespace kiln::config {
namespace {

/// "a", "b"
std::string quoted(std::span<const std::string_view> names) {
  std::string list;
  for (const std::string_view name : names) list += text(list.empty() ? "" : ", ", '"', name, '"');
  return list;
}

/// The subject of an error sentence.
std::string subject(const ConfigPath& place) {
  return place.path.empty() ? std::string("the config") : text('\'', place.path, '\'');
}

[[noreturn]] void fail_none_of(const ConfigPath& place, std::string_view wish,
                               std::span<const std::string_view> names) {
  fail<ConfigError>(place.source, ": ", subject(place), " must be one of ", quoted(names), ", got \"", shown(wish), '"',
                    did_you_mean(wish, names));
}

/// Runs a struct's check(), and turns its error into a ConfigError that names the struct's position.
void check_at(const ConfigPath& place, const Type& type, const void* object) {
  try {
    type.check(object);
  } catch (const ConfigError&) { throw; } catch (const Error& error) {
    const std::string where = place.path.empty() ? std::string() : text(subject(place), ": ");
    fail<ConfigError>(place.source, ": ", where, error.message());
  }
}

bool same_numbers(const Type& type, const void* a, const void* b) {
  using enum Type::Kind;
  if (type.kind == Bool || type.kind == Integer || type.kind == Float || type.kind == Enum)
    return std::memcmp(a, b, type.size) == 0;
  bool same = true;
  if (type.fields)
    for (const bool field : same_numbers(type.fields(a), type.fields(b))) same = same && field;
  for (std::size_t i = 0; i < type.array_length; ++i) {
    const std::size_t offset = i * type.element->size;
    same =
        same && same_numbers(*type.element, static_cast<const char*>(a) + offset, static_cast<const char*>(b) + offset);
  }
  return same;
}

/// Whether all strings and lists in a default value hold something.
bool is_filled(const Type& type, const void* value) {
  if (type.fields) {
    for (const Field& field : type.fields(value))
      if (!is_filled(*field.type, field.at)) return false;
    return true;
  }
  return !type.is_empty || !type.is_empty(value);
}

}  // namespace

void throw_mismatch(const ConfigPath& place, const Json& got, const std::string& expected) {
  fail<ConfigError>(place.source, ": ", subject(place), " must be ", expected, ", got ", describe(got));
}

std::uint64_t read_integer(const Json& json, const ConfigPath& place, std::int64_t least, std::uint64_t most) {
  if (const auto* const number = std::get_if<std::int64_t>(&json.is)) {
    if (*number >= least && std::cmp_less_equal(*number, most)) return static_cast<std::uint64_t>(*number);
  } else if (const auto* const large = std::get_if<std::uint64_t>(&json.is)) {
    if (*large <= most && std::cmp_greater_equal(*large, least)) return *large;
  } else {
    throw_mismatch(place, json, "an integer");
  }
  throw_mismatch(place, json, "an integer from ", least, " to ", most);
}

double read_number(const Json& json, const ConfigPath& place, double most) {
  double number = 0;
  if (const auto* const real = std::get_if<double>(&json.is)) number = *real;
  else if (const auto* const whole = std::get_if<std::int64_t>(&json.is)) number = static_cast<double>(*whole);
  else if (const auto* const large = std::get_if<std::uint64_t>(&json.is)) number = static_cast<double>(*large);
  else throw_mismatch(place, json, "a number");
  if (number > most || number < -most) throw_mismatch(place, json, "a number from ", -most, " to ", most);
  return number;
}

std::size_t read_enum(const Json& json, const ConfigPath& place, std::span<const std::string_view> names) {
  const auto& wish = expect<std::string>(json, place, "a string");
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == wish) return i;
  fail_none_of(place, wish, names);
}

const Json::List& read_elements(const Json& json, const ConfigPath& place, const std::size_t* length,
                                std::int64_t capacity) {
  const auto& list = expect<Json::List>(json, place, "a list");
  if (length && list.size() != *length)
    fail<ConfigError>(place.source, ": ", subject(place), " must have ", *length, " elements, got ", list.size());
  if (std::cmp_greater(list.size(), capacity))
    fail<ConfigError>(place.source, ": ", subject(place), " must have at most ", capacity, " elements, got ",
                      list.size());
  return list;
}

void read_struct(const Json& json, const Type& type, void* object, const ConfigPath& place, bool has_defaults) {
  const auto& members = expect<Json::Object>(json, place, "an object");
  const std::vector<Field> fields = type.fields(object);
  std::vector<const Json*> given(fields.size());
  std::vector<std::string_view> names;
  for (const Field& field : fields) names.push_back(field.name);
  for (const auto& [key, member] : members) {
    std::size_t i = 0;
    while (i < fields.size() && names[i] != key) ++i;
    if (i == fields.size())
      fail<ConfigError>(place.source, ": unknown key '", place.field(key).path, '\'', did_you_mean(key, names));
    given[i] = &member;
  }
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const Type& held = *fields[i].type;
    const ConfigPath there = place.field(names[i]);
    const bool defaulted = has_defaults || has_default(type, i, fields[i]);
    if (given[i]) held.read(*given[i], fields[i].at, there, defaulted);
    else if (defaulted) continue;
    // A missing struct is read from an empty object, so that the error names the field without a default.
    else if (held.kind == Type::Kind::Struct) held.read(Json{Json::Object()}, fields[i].at, there, false);
    else fail<ConfigError>(place.source, ": '", there.path, "' is missing");
  }
  if (type.check) check_at(place, type, object);
}

Json write_struct(const Type& type, const void* object) {
  Json::Object members;
  for (const Field& field : type.fields(object))
    members.emplace_back(std::string(field.name), field.type->write(field.at));
  return {std::move(members)};
}

void read_variant(const Json& json, void* variant, const ConfigPath& place, std::span<const Alternative> alternatives) {
  const auto* wish = std::get_if<std::string>(&json.is);
  const auto* const object = std::get_if<Json::Object>(&json.is);
  const Json defaults{Json::Object()}, *fields = &defaults;
  if (object && object->size() == 1) {
    wish = &object->front().first;
    fields = &object->front().second;
  }
  std::vector<std::string_view> names;
  for (const Alternative& alternative : alternatives) {
    names.push_back(alternative.name);
    if (!wish || *wish != alternative.name) continue;
    return alternative.type->read(*fields, alternative.emplace(variant), place.field(alternative.name), false);
  }
  if (!wish) throw_mismatch(place, json, "one of ", quoted(names), ", or an object with one of them for its key");
  fail_none_of(place, *wish, names);
}

Json write_variant(const void* variant, std::span<const Alternative> alternatives) {
  for (const Alternative& alternative : alternatives)
    if (const void* const held = alternative.get(variant)) {
      Json json = alternative.type->write(held);
      const std::string name(alternative.name);
      const auto* const object = std::get_if<Json::Object>(&json.is);
      if (object && object->empty()) return {name};
      return {Json::Object{{name, std::move(json)}}};
    }
  return {nullptr};  // an exception left it without a value
}

bool has_default(const Type& type, std::size_t index, const Field& field) {
  return type.initialized()[index] && is_filled(*field.type, field.at);
}

std::vector<bool> same_numbers(const std::vector<Field>& a, const std::vector<Field>& b) {
  std::vector<bool> same;
  for (std::size_t i = 0; i < a.size(); ++i) same.push_back(same_numbers(*a[i].type, a[i].at, b[i].at));
  return same;
}

}  // namespace kiln::config

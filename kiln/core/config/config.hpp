// Plain structs to and from JSON: a config is a struct with defaults, and its file has a key for each field.
//
// Fields may be bool, integers, floats, strings, enums, std::optional, lists (std::vector, std::array, Shape),
// std::map from strings, structs of those, types with a to_json() and a from_json() of their own, and std::variant of
// structs: {"Adam": {"beta1": 0.8}}, the name being that of the struct without "Config", or "Adam" where it is to have its
// defaults. A key may be missing where the struct gives its field a default:
//   - a number, bool or enum with a default member initializer, whatever its value: `int warmup = 0;`
//   - a string, list or map that is not empty by default;
//   - a std::optional; a std::variant, which is then what it is by default;
//   - a struct all of whose fields have defaults, in it or from the struct around it.
// A struct with a check() const, which throws for what has no meaning, is checked when it has been read.
#pragma once
#include <cstring>
#include <limits>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "kiln/core/config/json.hpp"
#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/core/error/suggest.hpp"
#include "kiln/core/file.hpp"
#include "kiln/core/function_ref.hpp"
#include "kiln/core/reflect/reflect_enum.hpp"
#include "kiln/core/reflect/reflect_values.hpp"
#include "kiln/core/shape.hpp"

namespace kiln {

template <class T> Json to_json(const T& value);

namespace config {

// Where a value stands, for sentences: "gpt.json: 'optimizer.beta1'".
struct Place {
  std::string_view source;
  std::string path;

  Place field(std::string_view name) const {
    return {source, path.empty() ? shown(name) : text(path, '.', shown(name))};
  }
  Place element(std::size_t index) const { return {source, text(path, '[', index, ']')}; }
};

template <class... Expected>
[[noreturn]] void wrong(const Place& place, const Json& got, const Expected&... expected) {
  const auto subject = place.path.empty() ? std::string("the config") : text('\'', place.path, '\'');
  fail<ConfigError>(place.source, ": ", subject, " must be ", expected..., ", got ", describe(got));
}

template <class T>
const T& expect(const Json& json, const Place& place, std::string_view expected) {
  if (const auto* const value = std::get_if<T>(&json.is)) return *value;
  wrong(place, json, expected);
}

// A new T as `T object;` makes it, in memory that held `pattern` before: what has no initializer still holds it. The
// compiler must not use that it may leave anything there, so it is kept from knowing where the memory comes from.
template <class T>
class DefaultInitialized {
 public:
  explicit DefaultInitialized(int pattern) {
    std::memset(memory_, pattern, sizeof memory_);
    hide(memory_);
    object_ = new (memory_) T;
    hide(memory_);
  }
  DefaultInitialized(const DefaultInitialized&) = delete;
  DefaultInitialized& operator=(const DefaultInitialized&) = delete;
  ~DefaultInitialized() { object_->~T(); }
  const T& operator*() const { return *object_; }

 private:
  static void hide(void* memory) { asm volatile("" : : "r"(memory) : "memory"); }

  alignas(T) unsigned char memory_[sizeof(T)];
  T* object_;
};

// Whether all numbers in a field have an initializer: they do not depend on what the memory held.
template <class T>
bool same_numbers(const T& a, const T& b) {
  bool same = true;
  if constexpr (std::is_scalar_v<T>) {
    same = std::memcmp(&a, &b, sizeof a) == 0;
  } else if constexpr (reflect::Aggregate<T>) {
    reflect::detail::for_each_index<reflect::field_count<T>>(
        [&](auto i) { same = same && same_numbers(std::get<i>(reflect::fields(a)), std::get<i>(reflect::fields(b))); });
  } else if constexpr (reflect::TupleLike<T>) {
    reflect::detail::for_each_index<std::tuple_size_v<T>>(
        [&](auto i) { same = same && same_numbers(std::get<i>(a), std::get<i>(b)); });
  }
  return same;
}

template <class T, std::size_t I>
bool is_initialized() {
  static const bool initialized = [] {
    const DefaultInitialized<T> a(0x55), b(0xaa);
    return same_numbers(std::get<I>(reflect::fields(*a)), std::get<I>(reflect::fields(*b)));
  }();
  return initialized;
}

// Whether the strings and lists in a default value hold anything.
template <class T>
bool is_filled(const T& value) {
  if constexpr (reflect::OptionalLike<T>) {
    return true;
  } else if constexpr (reflect::Aggregate<T>) {
    bool filled = true;
    reflect::for_each_field(value, [&](std::string_view, const auto& field) { filled = filled && is_filled(field); });
    return filled;
  } else if constexpr (reflect::ListLike<T>) {
    return value.begin() != value.end();
  } else {
    return true;
  }
}

// Whether `field`, as a new T has it, is a default.
template <class T, std::size_t I>
bool has_default(const reflect::FieldType<T, I>& field) {
  return is_initialized<T, I>() && is_filled(field);
}

template <class T> void read(const Json& json, T& value, const Place& place, bool has_defaults = false);

// Runs a struct's check(), and turns an error of it into a ConfigError with the struct's place.
void check_at(const Place& place, FunctionRef<void()> check);

template <reflect::Aggregate T>
void read_object(const Json& json, T& value, const Place& place, bool has_defaults) {
  const auto& object = expect<Json::Object>(json, place, "an object");
  constexpr auto& names = reflect::field_names<T>();
  for (const auto& [key, member] : object) {
    bool known = false;
    for (const auto name : names) known = known || name == key;
    if (!known)
      fail<ConfigError>(place.source, ": unknown key '", place.field(key).path, '\'', did_you_mean(key, names));
  }
  reflect::detail::for_each_index<reflect::field_count<T>>([&](auto i) {
    auto& field = std::get<i>(reflect::fields(value));
    using Field = reflect::FieldType<T, i>;
    const Place there = place.field(names[i]);
    const bool defaulted = has_defaults || has_default<T, i>(field);
    for (const auto& [key, member] : object)
      if (key == names[i]) return read(member, field, there, defaulted);
    if (defaulted) return;
    // A struct that is missing names the field that it is missing for.
    if constexpr (reflect::Aggregate<Field>) read(Json{Json::Object()}, field, there);
    else fail<ConfigError>(place.source, ": '", there.path, "' is missing");
  });
  if constexpr (requires { std::as_const(value).check(); }) check_at(place, [&] { std::as_const(value).check(); });
}

template <class T>
void read_integer(const Json& json, T& value, const Place& place) {
  const auto* const number = std::get_if<std::int64_t>(&json.is);
  const auto* const large = std::get_if<std::uint64_t>(&json.is);
  if (number && std::in_range<T>(*number)) value = static_cast<T>(*number);
  else if (large && std::in_range<T>(*large)) value = static_cast<T>(*large);
  else if (number || large)
    wrong(place, json, "an integer from ", std::numeric_limits<T>::min(), " to ", std::numeric_limits<T>::max());
  else wrong(place, json, "an integer");
}

template <class T>
void read_float(const Json& json, T& value, const Place& place) {
  double number = 0;
  if (const auto* const real = std::get_if<double>(&json.is)) number = *real;
  else if (const auto* const whole = std::get_if<std::int64_t>(&json.is)) number = static_cast<double>(*whole);
  else if (const auto* const large = std::get_if<std::uint64_t>(&json.is)) number = static_cast<double>(*large);
  else wrong(place, json, "a number");
  constexpr double most = std::numeric_limits<T>::max();
  if (number > most || number < -most) wrong(place, json, "a number from ", -most, " to ", most);
  value = static_cast<T>(number);
}

template <class T>
void read_enum(const Json& json, T& value, const Place& place) {
  const auto& wish = expect<std::string>(json, place, "a string");
  std::vector<std::string_view> names;
  std::string list;
  for (const auto& [enumerator, name] : reflect::enumerators<T>()) {
    if (name == wish) {
      value = enumerator;
      return;
    }
    names.push_back(name);
    list += text(list.empty() ? "" : ", ", '"', name, '"');
  }
  fail<ConfigError>(place.source, ": '", place.path, "' must be one of ", list, ", got ", describe(json),
                    did_you_mean(wish, names));
}

// "Adam" of AdamConfig: how JSON names an alternative of a variant.
template <class T>
constexpr std::string_view alternative_name() {
  constexpr std::string_view name = reflect::type_name<T>(), suffix = "Config";
  return name.size() > suffix.size() && name.ends_with(suffix) ? name.substr(0, name.size() - suffix.size()) : name;
}

template <class T>
void read_variant(const Json& json, T& value, const Place& place) {
  const auto* wish = std::get_if<std::string>(&json.is);
  const auto* const object = std::get_if<Json::Object>(&json.is);
  const Json defaults{Json::Object()}, *fields = &defaults;
  if (object && object->size() == 1) {
    wish = &object->front().first;
    fields = &object->front().second;
  }
  bool found = false;
  std::vector<std::string_view> names;
  reflect::detail::for_each_index<std::variant_size_v<T>>([&](auto i) {
    using Alternative = std::variant_alternative_t<i, T>;
    names.push_back(alternative_name<Alternative>());
    if (!wish || *wish != names.back()) return;
    found = true;
    read(*fields, value.template emplace<i>(Alternative{}), place.field(names.back()));
  });
  if (found) return;
  std::string list;
  for (const auto name : names) list += text(list.empty() ? "" : ", ", '"', name, '"');
  if (!wish) wrong(place, json, "one of ", list, ", or an object with one of them for its key");
  fail<ConfigError>(place.source, ": '", place.path, "' must be one of ", list, ", got \"", shown(*wish), '"',
                    did_you_mean(*wish, names));
}

template <class T>
void read_list(const Json& json, T& value, const Place& place) {
  const auto& list = expect<Json::List>(json, place, "a list");
  if constexpr (reflect::TupleLike<T>) {
    if (list.size() != value.size())
      fail<ConfigError>(place.source, ": '", place.path, "' must have ", value.size(), " elements, got ", list.size());
    for (std::size_t i = 0; i < list.size(); ++i) read(list[i], value[i], place.element(i));
  } else {
    if constexpr (requires { T::kCapacity; })
      if (list.size() > static_cast<std::size_t>(T::kCapacity))
        fail<ConfigError>(place.source, ": '", place.path, "' must have at most ", T::kCapacity, " elements, got ",
                          list.size());
    value = T();
    for (std::size_t i = 0; i < list.size(); ++i) {
      typename T::value_type element{};
      read(list[i], element, place.element(i));
      value.push_back(std::move(element));
    }
  }
}

// A type that says itself what it is in JSON: Selector.
template <class T>
concept HasJson = requires(const T& value, const Json& json, const Place& place) {
  { value.to_json() } -> std::same_as<Json>;
  { T::from_json(json, place) } -> std::same_as<T>;
};

template <class T>
void read(const Json& json, T& value, const Place& place, bool has_defaults) {
  if constexpr (HasJson<T>) {
    value = T::from_json(json, place);
  } else if constexpr (std::is_same_v<T, bool>) {
    value = expect<bool>(json, place, "true or false");
  } else if constexpr (std::is_integral_v<T>) {
    read_integer(json, value, place);
  } else if constexpr (std::is_same_v<T, Dim>) {
    int dim = 0;
    read_integer(json, dim, place);
    value = dim;
  } else if constexpr (std::is_floating_point_v<T>) {
    read_float(json, value, place);
  } else if constexpr (std::is_same_v<T, std::string>) {
    value = expect<std::string>(json, place, "a string");
  } else if constexpr (std::is_enum_v<T>) {
    read_enum(json, value, place);
  } else if constexpr (reflect::VariantLike<T>) {
    read_variant(json, value, place);
  } else if constexpr (reflect::OptionalLike<T>) {
    if (std::holds_alternative<std::nullptr_t>(json.is)) value.reset();
    else read(json, value.emplace(), place);
  } else if constexpr (reflect::MapLike<T>) {
    value.clear();
    for (const auto& [key, member] : expect<Json::Object>(json, place, "an object"))
      read(member, value[key], place.field(key));
  } else if constexpr (reflect::ListLike<T>) {
    read_list(json, value, place);
  } else {
    static_assert(reflect::Aggregate<T>, "a config has no fields of this type");
    read_object(json, value, place, has_defaults);
  }
}

}  // namespace config

template <class T>
Json to_json(const T& value) {
  if constexpr (config::HasJson<T>) {
    return value.to_json();
  } else if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, std::string>) {
    return {value};
  } else if constexpr (std::is_integral_v<T>) {
    if (std::in_range<std::int64_t>(value)) return {static_cast<std::int64_t>(value)};
    return {static_cast<std::uint64_t>(value)};
  } else if constexpr (std::is_same_v<T, Dim>) {
    return {std::int64_t{value}};
  } else if constexpr (std::is_floating_point_v<T>) {
    return {static_cast<double>(value)};
  } else if constexpr (std::is_enum_v<T>) {
    for (const auto& [enumerator, name] : reflect::enumerators<T>())
      if (enumerator == value) return {std::string(name)};
    fail<ConfigError>(reflect::type_name<T>(), " has no name for ", static_cast<std::int64_t>(value));
  } else if constexpr (reflect::VariantLike<T>) {
    return std::visit(
        []<class Held>(const Held& held) -> Json {
          const std::string name(config::alternative_name<Held>());
          if constexpr (reflect::field_count<Held> == 0) return {name};
          else return {Json::Object{{name, to_json(held)}}};
        },
        value);
  } else if constexpr (reflect::OptionalLike<T>) {
    return value ? to_json(*value) : Json{nullptr};
  } else if constexpr (reflect::MapLike<T>) {
    Json::Object object;
    for (const auto& [key, member] : value) object.emplace_back(key, to_json(member));
    return {std::move(object)};
  } else if constexpr (reflect::ListLike<T>) {
    Json::List list;
    for (const typename T::value_type& element : value) list.push_back(to_json(element));
    return {std::move(list)};
  } else {
    static_assert(reflect::Aggregate<T>, "a config has no fields of this type");
    Json::Object object;
    reflect::for_each_field(value, [&](std::string_view name, const auto& field) {
      object.emplace_back(std::string(name), to_json(field));
    });
    return {std::move(object)};
  }
}

/// A T from JSON; `source` names the text in errors. Throws ConfigError, one sentence with the path of the value:
/// "gpt.json: 'optimizer.beta1' must be a number, got \"high\"".
template <class T>
T from_json(const Json& json, std::string_view source) {
  T value{};
  config::read(json, value, {source, ""});
  return value;
}
template <class T>
T from_json(std::string_view text, std::string_view source) {
  return from_json<T>(parse_json(text, source), source);
}

/// Throws ConfigError, or IoError where the file cannot be read.
template <class T>
T load_config(const std::string& path) {
  return from_json<T>(std::string_view(read_text_file(path)), path);
}

/// Replaces the file in one step. Throws ConfigError for what JSON cannot hold, IoError.
template <class T>
void save_config(const T& value, const std::string& path) {
  write_file_atomically(path, std::string_view(write_json(to_json(value))));
}

}  // namespace kiln

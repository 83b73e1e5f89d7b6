// Plain structs to and from JSON: a config is a struct with defaults, and its file has a key for each field.
//
// Fields may be bool, integers, floats, strings, enums, std::optional, lists (std::vector, std::array, Shape), std::map
// from strings, structs of those, types with their own to_json() and from_json(), and std::variant of structs. A
// variant is {"Adam": {"beta1": 0.8}}, with the name of the struct without "Config", or "Adam" for its defaults.
// A key may be missing where the struct gives its field a default:
//   - a number, bool or enum with a default member initializer, whatever its value: `int warmup = 0;`
//   - a string, list or map that is not empty by default;
//   - a std::optional; a std::variant, which then holds its default;
//   - a struct all of whose fields have defaults, in it or from the struct around it.
// A struct with a check() const is checked when it has been read; check() throws for values that have no meaning.
#pragma once
#include <array>
#include <concepts>
#include <cstring>
#include <limits>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "kiln/core/config/config_path.hpp"
#include "kiln/core/config/json.hpp"
#include "kiln/core/config/type.hpp"
#include "kiln/core/error/memory_error.hpp"
#include "kiln/core/file.hpp"
#include "kiln/core/reflect/reflect_enum.hpp"
#include "kiln/core/reflect/reflect_values.hpp"
#include "kiln/core/shape.hpp"

namespace kiln {

template <class T> Json to_json(const T& value);

namespace config {

template <class T> void read(const Json& json, T& value, const ConfigPath& place, bool has_defaults = false);

/// A type that converts itself to and from JSON, such as Selector. It need not be default constructible.
template <class T>
concept HasJson = requires(const T& value, const Json& json, const ConfigPath& place) {
  { value.to_json() } -> std::same_as<Json>;
  { T::from_json(json, place) } -> std::same_as<T>;
};

template <class T>
T made(const Json& json, const ConfigPath& place) {
  if constexpr (HasJson<T>) {
    return T::from_json(json, place);
  } else {
    T value{};
    read(json, value, place);
    return value;
  }
}

template <class T>
constexpr Type::Kind kind_of() {
  using enum Type::Kind;
  if constexpr (HasJson<T>) return Own;
  else if constexpr (std::is_same_v<T, bool>) return Bool;
  else if constexpr (std::is_integral_v<T> || std::is_same_v<T, Dim>) return Integer;
  else if constexpr (std::is_floating_point_v<T>) return Float;
  else if constexpr (std::is_same_v<T, std::string>) return Text;
  else if constexpr (std::is_enum_v<T>) return Enum;
  else if constexpr (reflect::VariantLike<T>) return Variant;
  else if constexpr (reflect::OptionalLike<T>) return Optional;
  else if constexpr (reflect::MapLike<T>) return Map;
  else if constexpr (reflect::ListLike<T>) return List;
  else {
    static_assert(reflect::Aggregate<T>, "a config has no fields of this type");
    return Struct;
  }
}

// A new T as `T object;` makes it, in memory that held `pattern` before: a field without an initializer still holds the
// pattern. The compiler could assume that such a field holds anything, so hide() keeps it from knowing the memory's
// origin.
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
  const T* get() const { return object_; }

 private:
  static void hide(void* memory) { asm volatile("" : : "r"(memory) : "memory"); }

  alignas(T) unsigned char memory_[sizeof(T)];
  T* object_;
};

template <class T> constexpr Type type_of();
template <class T> inline constexpr Type kType = type_of<T>();

template <class T>
std::vector<Field> fields_of(const void* object) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) -> std::vector<Field> {
    [[maybe_unused]] const auto fields = reflect::fields(*static_cast<T*>(const_cast<void*>(object)));
    return {{reflect::field_names<T>()[I], &std::get<I>(fields), &kType<reflect::FieldType<T, I>>}...};
  }(std::make_index_sequence<reflect::field_count<T>>());
}

template <class T>
const std::vector<bool>& initialized() {
  static const std::vector<bool> fields = [] {
    const DefaultInitialized<T> a(0x55), b(0xaa);
    return same_numbers(fields_of<T>(a.get()), fields_of<T>(b.get()));
  }();
  return fields;
}

template <class T>
std::vector<std::string_view> enumerator_names() {
  std::vector<std::string_view> names;
  for (const auto& [enumerator, name] : reflect::enumerators<T>()) names.push_back(name);
  return names;
}

template <class T>
constexpr Type type_of() {
  Type type{.kind = kind_of<T>()};
  type.read = [](const Json& json, void* value, const ConfigPath& place, bool has_defaults) {
    read(json, *static_cast<T*>(value), place, has_defaults);
  };
  type.write = [](const void* value) { return to_json(*static_cast<const T*>(value)); };
  type.size = sizeof(T);
  if constexpr (kind_of<T>() == Type::Kind::Struct) {
    type.fields = fields_of<T>;
    type.initialized = initialized<T>;
    if constexpr (requires(const T& object) { object.check(); })
      type.check = [](const void* object) { static_cast<const T*>(object)->check(); };
  } else if constexpr (kind_of<T>() == Type::Kind::Enum) {
    type.names = enumerator_names<T>;
  } else if constexpr (reflect::OptionalLike<T>) {
    type.element = &kType<typename T::value_type>;
  } else if constexpr (reflect::ListLike<T> && !HasJson<T>) {
    type.is_empty = [](const void* value) {
      return static_cast<const T*>(value)->begin() == static_cast<const T*>(value)->end();
    };
    if constexpr (kind_of<T>() == Type::Kind::List) type.element = &kType<std::remove_cvref_t<typename T::value_type>>;
    if constexpr (reflect::TupleLike<T>) type.array_length = std::tuple_size_v<T>;
  }
  return type;
}

// "Adam" for AdamConfig: the name of a variant's alternative in JSON.
template <class T>
constexpr std::string_view alternative_name() {
  constexpr std::string_view name = reflect::type_name<T>(), suffix = "Config";
  return name.size() > suffix.size() && name.ends_with(suffix) ? name.substr(0, name.size() - suffix.size()) : name;
}

template <class T, std::size_t I>
Alternative alternative() {
  using Held = std::variant_alternative_t<I, T>;
  return {alternative_name<Held>(), &kType<Held>,
          [](void* variant) -> void* { return &static_cast<T*>(variant)->template emplace<I>(Held{}); },
          [](const void* variant) -> const void* { return std::get_if<I>(static_cast<const T*>(variant)); }};
}
template <class T>
std::span<const Alternative> alternatives() {
  static const auto all = []<std::size_t... I>(std::index_sequence<I...>) {
    return std::array<Alternative, sizeof...(I)>{alternative<T, I>()...};
  }(std::make_index_sequence<std::variant_size_v<T>>());
  return all;
}

template <class T>
void read_list(const Json& json, T& value, const ConfigPath& place) {
  if constexpr (reflect::TupleLike<T>) {
    const std::size_t length = value.size();
    const Json::List& list = read_elements(json, place, &length, std::numeric_limits<std::int64_t>::max());
    for (std::size_t i = 0; i < length; ++i) read(list[i], value[i], place.element(i));
  } else {
    std::int64_t capacity = std::numeric_limits<std::int64_t>::max();
    if constexpr (requires { T::kCapacity; }) capacity = T::kCapacity;
    const Json::List& list = read_elements(json, place, nullptr, capacity);
    value = T();
    Json room;
    for (std::size_t i = 0; i < list.size(); ++i)
      value.push_back(made<typename T::value_type>(list.element(i, room), place.element(i)));
  }
}

template <class T>
void read(const Json& json, T& value, const ConfigPath& place, bool has_defaults) {
  constexpr Type::Kind kind = kind_of<T>();
  if constexpr (kind == Type::Kind::Own) {
    value = T::from_json(json, place);
  } else if constexpr (kind == Type::Kind::Bool) {
    value = expect<bool>(json, place, "true or false");
  } else if constexpr (kind == Type::Kind::Integer) {
    using Number = std::conditional_t<std::is_same_v<T, Dim>, int, T>;
    using Limits = std::numeric_limits<Number>;
    value = static_cast<Number>(read_integer(json, place, Limits::min(), Limits::max()));
  } else if constexpr (kind == Type::Kind::Float) {
    value = static_cast<T>(read_number(json, place, std::numeric_limits<T>::max()));
  } else if constexpr (kind == Type::Kind::Text) {
    value = expect<std::string>(json, place, "a string");
  } else if constexpr (kind == Type::Kind::Enum) {
    value = reflect::enumerators<T>()[read_enum(json, place, enumerator_names<T>())].first;
  } else if constexpr (kind == Type::Kind::Variant) {
    read_variant(json, &value, place, alternatives<T>());
  } else if constexpr (kind == Type::Kind::Optional) {
    if (std::holds_alternative<std::nullptr_t>(json.is)) value.reset();
    else value = made<typename T::value_type>(json, place);
  } else if constexpr (kind == Type::Kind::Map) {
    value.clear();
    for (const auto& [key, member] : expect<Json::Object>(json, place, "an object"))
      value.insert_or_assign(key, made<typename T::mapped_type>(member, place.field(key)));
  } else if constexpr (kind == Type::Kind::List) {
    read_list(json, value, place);
  } else {
    read_struct(json, kType<T>, &value, place, has_defaults);
  }
}

}  // namespace config

template <class T>
Json to_json(const T& value) {
  using Kind = config::Type::Kind;
  constexpr Kind kind = config::kind_of<T>();
  if constexpr (kind == Kind::Own) {
    return value.to_json();
  } else if constexpr (kind == Kind::Bool || kind == Kind::Text) {
    return {value};
  } else if constexpr (std::is_same_v<T, Dim>) {
    return {std::int64_t{value}};
  } else if constexpr (kind == Kind::Integer) {
    if (std::in_range<std::int64_t>(value)) return {static_cast<std::int64_t>(value)};
    return {static_cast<std::uint64_t>(value)};
  } else if constexpr (kind == Kind::Float) {
    return {static_cast<double>(value)};
  } else if constexpr (kind == Kind::Enum) {
    for (const auto& [enumerator, name] : reflect::enumerators<T>())
      if (enumerator == value) return {std::string(name)};
    fail<ConfigError>(reflect::type_name<T>(), " has no name for ", static_cast<std::int64_t>(value));
  } else if constexpr (kind == Kind::Variant) {
    return config::write_variant(&value, config::alternatives<T>());
  } else if constexpr (kind == Kind::Optional) {
    return value ? to_json(*value) : Json{nullptr};
  } else if constexpr (kind == Kind::Map) {
    Json::Object object;
    for (const auto& [key, member] : value) object.emplace_back(key, to_json(member));
    return {std::move(object)};
  } else if constexpr (kind == Kind::List) {
    Json::List list;
    for (const typename T::value_type& element : value) list.push_back(to_json(element));
    return {std::move(list)};
  } else {
    return config::write_struct(config::kType<T>, &value);
  }
}

/// Reads a T from JSON; `source` names the text in errors. Throws ConfigError, one sentence with the path of the value:
/// "gpt.json: 'optimizer.beta1' must be a number, got \"high\"".
template <class T>
T from_json(const Json& json, std::string_view source) {
  return or_memory_error(source, [&] { return config::made<T>(json, config::ConfigPath{source, ""}); });
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

/// Replaces the file in one step. Throws ConfigError for values that JSON cannot hold, or IoError.
template <class T>
void save_config(const T& value, const std::string& path) {
  or_memory_error(path, [&] { write_file_atomically(path, std::string_view(write_json(to_json(value)))); });
}

}  // namespace kiln

// What is known of the type of a value in a config: a table for each. What is done with structs, lists and choices is
// compiled once for all types, in type.cpp, and goes by these tables.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "kiln/core/config/json.hpp"
#include "kiln/core/config/place.hpp"

namespace kiln::config {

struct Type;

/// A field of some struct.
struct Field {
  std::string_view name;
  void* at;
  const Type* type;
};

/// What a variant may hold.
struct Alternative {
  std::string_view name;  // "Adam" of AdamConfig
  const Type* type;
  void* (*emplace)(void* variant);          // as it is by default
  const void* (*get)(const void* variant);  // null where the variant holds another
};

struct Type {
  enum class Kind : std::uint8_t { Bool, Integer, Float, Text, Enum, Optional, List, Map, Variant, Struct, Own };

  Kind kind;
  void (*read)(const Json& json, void* value, const Place& place, bool has_defaults) = nullptr;
  Json (*write)(const void* value) = nullptr;

  std::size_t size = 0;                                // of the type in bytes
  std::size_t array_length = 0;                        // of a std::array
  const Type* element = nullptr;                       // of a list and an optional
  bool (*is_empty)(const void* value) = nullptr;       // of a text, a list and a map
  std::vector<std::string_view> (*names)() = nullptr;  // of an enum

  // Of a struct.
  std::vector<Field> (*fields)(const void* object) = nullptr;
  const std::vector<bool>& (*initialized)() = nullptr;  // fields that have an initializer for all numbers in them
  void (*check)(const void* object) = nullptr;          // null where it has none
};

/// An integer between the two, as its bits.
std::uint64_t read_integer(const Json& json, const Place& place, std::int64_t least, std::uint64_t most);
/// A number that is not beyond `most` on either side.
double read_number(const Json& json, const Place& place, double most);
/// Its place among the names.
std::size_t read_enum(const Json& json, const Place& place, std::span<const std::string_view> names);
/// As many as a list of the type takes, which is `length` for an array and `capacity` at most for others.
const Json::List& read_elements(const Json& json, const Place& place, const std::size_t* length, std::int64_t capacity);

void read_struct(const Json& json, const Type& type, void* object, const Place& place, bool has_defaults);
Json write_struct(const Type& type, const void* object);
void read_variant(const Json& json, void* variant, const Place& place, std::span<const Alternative> alternatives);
Json write_variant(const void* variant, std::span<const Alternative> alternatives);

/// Is the field, as a new object of the struct has it, a default?
bool has_default(const Type& type, std::size_t index, const Field& field);
/// For Type::initialized: of each field, whether its numbers are the same in two objects, which were made in memory that
/// held different bits.
std::vector<bool> same_numbers(const std::vector<Field>& a, const std::vector<Field>& b);

}  // namespace kiln::config

// A table that describes the type of a value in a config. Structs, lists and variants of all types are read and written
// by code that is compiled once, in type.cpp, and works by these tables.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "kiln/core/config/config_path.hpp"
#include "kiln/core/config/json.hpp"

namespace kiln::config {

struct Type;

/// A field of a struct.
struct Field {
  std::string_view name;
  void* at;
  const Type* type;
};

/// An alternative of a variant.
struct Alternative {
  std::string_view name;  // "Adam" for AdamConfig
  const Type* type;
  void* (*emplace)(void* variant);          // with its default value
  const void* (*get)(const void* variant);  // null where the variant holds another alternative
};

struct Type {
  enum class Kind : std::uint8_t { Bool, Integer, Float, Text, Enum, Optional, List, Map, Variant, Struct, Own };

  Kind kind;
  void (*read)(const Json& json, void* value, const ConfigPath& place, bool has_defaults) = nullptr;
  Json (*write)(const void* value) = nullptr;

  std::size_t size = 0;                                // of the type, in bytes
  std::size_t array_length = 0;                        // of a std::array
  const Type* element = nullptr;                       // of a list and an optional
  bool (*is_empty)(const void* value) = nullptr;       // of a text, a list and a map
  std::vector<std::string_view> (*names)() = nullptr;  // of an enum

  // These describe a struct.
  std::vector<Field> (*fields)(const void* object) = nullptr;
  const std::vector<bool>& (*initialized)() = nullptr;  // per field: all numbers in it have initializers
  void (*check)(const void* object) = nullptr;          // null where the struct has no check()
};

/// Reads an integer between `least` and `most`; returns its bits.
std::uint64_t read_integer(const Json& json, const ConfigPath& place, std::int64_t least, std::uint64_t most);
/// Reads a number between -most and most.
double read_number(const Json& json, const ConfigPath& place, double most);
/// Returns the index of the name that the JSON holds.
std::size_t read_enum(const Json& json, const ConfigPath& place, std::span<const std::string_view> names);
/// Returns the elements of a list. An array takes exactly `length` of them, other lists (null length) at most
/// `capacity`.
const Json::List& read_elements(const Json& json, const ConfigPath& place, const std::size_t* length,
                                std::int64_t capacity);

void read_struct(const Json& json, const Type& type, void* object, const ConfigPath& place, bool has_defaults);
Json write_struct(const Type& type, const void* object);
void read_variant(const Json& json, void* variant, const ConfigPath& place, std::span<const Alternative> alternatives);
Json write_variant(const void* variant, std::span<const Alternative> alternatives);

/// Whether a field has a default, given its value in a new object of the struct.
bool has_default(const Type& type, std::size_t index, const Field& field);
/// Computes Type::initialized: for each field, whether its numbers are equal in two objects that were created in memory
/// with different bits.
std::vector<bool> same_numbers(const std::vector<Field>& a, const std::vector<Field>& b);

}  // namespace kiln::config

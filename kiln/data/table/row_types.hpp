// The types of fields of a row in tables whose columns may be nested: leaves, lists, maps, structs, optionals of these.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "kiln/core/reflect/reflect_values.hpp"

namespace kiln::row {

template <class T>
concept ByteList = std::same_as<T, std::vector<std::byte>> || std::same_as<T, std::vector<std::uint8_t>>;
template <class T>
concept Leaf = std::is_arithmetic_v<T> || std::same_as<T, std::string> || ByteList<T> || reflect::ScopedEnum<T>;
template <class T>
concept OptionalLeaf = reflect::OptionalLike<T> && Leaf<typename T::value_type>;
template <class T>
concept List = reflect::ListLike<T> && !Leaf<T>;  // includes maps, which are lists of entries
template <class T>
concept OptionalList = reflect::OptionalLike<T> && List<typename T::value_type>;

template <class Key, class Value>
struct MapEntry {
  Key key{};
  Value value{};
};
template <class T>
struct ItemOf {
  using Type = typename T::value_type;
};
template <reflect::MapLike T>
struct ItemOf<T> {
  using Type = MapEntry<typename T::key_type, typename T::mapped_type>;
};
template <List T>
using Item = typename ItemOf<T>::Type;

/// The description of a kind in errors: "text", "whole numbers", ...
template <class T>
constexpr std::string_view wanted() {
  if constexpr (reflect::OptionalLike<T>) return wanted<typename T::value_type>();
  else if constexpr (std::same_as<T, bool>) return "truth values";
  else if constexpr (std::integral<T>) return "whole numbers";
  else if constexpr (std::floating_point<T>) return "numbers";
  else return ByteList<T> ? "bytes" : "texts";
}

constexpr std::string_view kMissing = "is missing (a field that may be is a std::optional)";

}  // namespace kiln::row

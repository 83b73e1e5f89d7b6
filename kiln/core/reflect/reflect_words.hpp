// Plain structs as sequences of 64-bit words, field by field through reflect.hpp: values of one type are equal exactly
// where their words are. (Numbers are compared bit by bit: 0 and -0 differ.)
#pragma once
#include <bit>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <tuple>
#include <vector>

#include "kiln/core/reflect/reflect.hpp"

namespace kiln::reflect {

using Words = std::vector<std::uint64_t>;

namespace detail {

template <class T>
concept Number = std::is_arithmetic_v<T> || std::is_enum_v<T>;
/// A list that owns its elements. Views are excluded: their elements may have changed or be gone when the words are
/// read.
template <class T>
concept List = requires(const T& list) {
  typename T::value_type;
  list.begin();
  list.size();
} && !std::ranges::enable_view<T> && !std::is_same_v<T, std::initializer_list<typename T::value_type>>;
template <class T>
concept Optional = requires(const T& optional) {
  *optional;
  optional.has_value();
};

/// Whether reflection accepts the type without a compile-time error.
template <class T>
consteval bool is_reflectable() {
  if constexpr (Aggregate<T>) {
    constexpr std::size_t count = count_initializers<T>();
    return count <= kMostFields && !has_base<T, count>() && !has_array<T, count>();
  } else {
    return false;
  }
}

template <class T>
consteval bool has_words() {
  if constexpr (Number<T>) return true;
  else if constexpr (List<T>) return has_words<typename T::value_type>();
  else if constexpr (Optional<T>) return has_words<typename T::value_type>();
  else if constexpr (is_reflectable<T>())
    // A struct with a reference as a field cannot be assigned; what the reference points to is not part of the value.
    return std::is_copy_assignable_v<T> && []<class... Fields>(const std::tuple<Fields...>*) {
      return (has_words<std::remove_cvref_t<Fields>>() && ...);
    }(static_cast<const FieldReferences<const T>*>(nullptr));
  else return false;
}

}  // namespace detail

/// Numbers and enums, and lists, optionals and structs of these; none refers to data that it does not own.
template <class T>
concept HasWords = detail::has_words<T>();

template <HasWords T>
void append_words(Words& words, const T& value) {
  if constexpr (std::is_floating_point_v<T>) {
    words.push_back(std::bit_cast<std::uint64_t>(static_cast<double>(value)));
  } else if constexpr (detail::Number<T>) {
    words.push_back(static_cast<std::uint64_t>(value));
  } else if constexpr (detail::List<T>) {
    words.push_back(static_cast<std::uint64_t>(value.size()));
    for (const typename T::value_type& element : value) append_words(words, element);
  } else if constexpr (detail::Optional<T>) {
    words.push_back(value.has_value());
    if (value) append_words(words, *value);
  } else {
    for_each_field(value, [&](std::string_view, const auto& field) { append_words(words, field); });
  }
}

}  // namespace kiln::reflect

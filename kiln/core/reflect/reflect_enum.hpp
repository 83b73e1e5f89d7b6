// The enumerators of a scoped enum from 0 to 127, with their names.
#pragma once
#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "kiln/core/reflect/reflect.hpp"

namespace kiln::reflect {

template <class T>
concept ScopedEnum = std::is_enum_v<T> && !std::is_convertible_v<T, std::underlying_type_t<T>>;

namespace detail {

// Compilers write an enumerator as "Mode::Fast", and a value that has no enumerator as "(Mode)7".
template <auto kValue>
constexpr std::string_view enumerator_name() {
  const std::string_view name = last_identifier(address_text<kValue>());
  return name[0] >= '0' && name[0] <= '9' ? std::string_view() : name;
}

template <class T>
inline constexpr auto enumerator_names = []<std::size_t... I>(std::index_sequence<I...>) {
  return std::array<std::string_view, sizeof...(I)>{enumerator_name<static_cast<T>(I)>()...};
}(std::make_index_sequence<128>());

}  // namespace detail

/// An enum whose enumerators are not declared where it is used. Functions that ADL finds return their number, counted
/// from 0, and their names: `enumerator_count(T())` and `name(value)`.
template <class T>
concept CountedEnum = ScopedEnum<T> && requires(T value) {
  std::size_t(enumerator_count(value));
  std::string_view(name(value));
};

/// Returns the identifier of an enumerator, or its name() if the enum is counted; empty for a value without a name, and
/// for an enum that is not scoped.
template <class T>
constexpr std::string_view enumerator_name(T value) {
  if constexpr (CountedEnum<T>) {
    return static_cast<std::size_t>(value) < enumerator_count(value) ? name(value) : std::string_view();
  } else if constexpr (ScopedEnum<T>) {
    const auto at = static_cast<std::size_t>(value);
    return at < detail::enumerator_names<T>.size() ? detail::enumerator_names<T>[at] : std::string_view();
  } else {
    return {};
  }
}

/// Each enumerator with its name: the result of `name(value)` if ADL finds one, or else the identifier.
template <ScopedEnum T>
std::vector<std::pair<T, std::string_view>> enumerators() {
  std::vector<std::pair<T, std::string_view>> result;
  if constexpr (CountedEnum<T>) {
    for (std::size_t i = 0; i < enumerator_count(T()); ++i)
      result.emplace_back(static_cast<T>(i), name(static_cast<T>(i)));
  } else {
    for (std::size_t i = 0; i < detail::enumerator_names<T>.size(); ++i) {
      if (detail::enumerator_names<T>[i].empty()) continue;
      const auto value = static_cast<T>(i);
      if constexpr (requires { std::string_view(name(value)); }) result.emplace_back(value, name(value));
      else result.emplace_back(value, detail::enumerator_names<T>[i]);
    }
  }
  return result;
}

}  // namespace kiln::reflect

// The fields of a plain struct, by name and type, at compile time: modules, configs, records and ops need no list
// of their members. Takes aggregates with up to 32 fields, none of them a C array, a reference or a bit field, and
// without base classes.
//
// Method: the count is the largest number of initializers that the type accepts, the fields come from a structured
// binding, and a field's name is part of the compiler's name for a template over the field's address.
#pragma once
#include <array>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "kiln/core/reflect/reflect_tie.hpp"

namespace kiln::reflect {

template <class T>
concept TupleLike = requires { std::tuple_size<std::remove_cv_t<T>>::value; };

/// The types whose fields reflection reads. std::array is an aggregate for the language, but a list for its users.
template <class T>
concept Aggregate = std::is_class_v<T> && std::is_aggregate_v<T> && !TupleLike<T>;

namespace detail {

// Placeholder initializers; none is ever evaluated. The first converts only to parameters that accept everything, the
// second to a field of any other type (an overlap would be ambiguous), the third to a base class of T.
struct Nothing {};
struct AnyField {
  template <class U>
  requires(!std::is_convertible_v<Nothing, U>) operator U() const {
    __builtin_unreachable();
  }
};
template <class T>
struct AnyBase {
  template <class U>
  requires(std::is_base_of_v<U, T> && !std::is_same_v<U, T>) operator U() const {
    __builtin_unreachable();
  }
};

template <std::size_t> using AnyFieldAt = AnyField;

template <class T, class First, std::size_t... I>
constexpr bool takes_after(std::index_sequence<I...>) {
  return requires { T{First(), AnyFieldAt<I>()...}; };
}
template <class T, std::size_t... I>
constexpr bool takes_any(std::index_sequence<I...>) {
  return requires { T{AnyFieldAt<I>()...}; };
}
template <class T, std::size_t... I, std::size_t... J>
constexpr bool takes_braces_between(std::index_sequence<I...>, std::index_sequence<J...>) {
  return requires { T{AnyFieldAt<I>()..., {}, AnyFieldAt<J>()...}; };
}

template <class T, std::size_t kCount = 0, bool kTaken = false>
constexpr std::size_t count_initializers() {
  // Too few initializers are refused where a later field requires one, so the first refusal need not be the end.
  constexpr bool taken = takes_any<T>(std::make_index_sequence<kCount>());
  if constexpr (kTaken && !taken) return kCount - 1;
  else if constexpr (kCount > kMostFields) return kCount;
  else return count_initializers<T, kCount + 1, taken>();
}

// A C array takes several initializers, but only one pair of braces.
template <class T, std::size_t kCount, std::size_t kAt = 0>
constexpr bool has_array() {
  if constexpr (kAt >= kCount) {
    return false;
  } else if constexpr (!takes_braces_between<T>(std::make_index_sequence<kAt>(),
                                                std::make_index_sequence<kCount - kAt - 1>())) {
    return []<std::size_t... Fewer>(std::index_sequence<Fewer...>) {
      return (takes_braces_between<T>(std::make_index_sequence<kAt>(), std::make_index_sequence<Fewer>()) || ...);
    }(std::make_index_sequence<kCount - kAt - 1>());
  } else {
    return has_array<T, kCount, kAt + 1>();
  }
}

template <class T, std::size_t kCount>
constexpr bool has_base() {
  if constexpr (kCount == 0) return false;
  else
    return takes_after<T, AnyBase<T>>(std::make_index_sequence<kCount - 1>()) &&
           !takes_after<T, Nothing>(std::make_index_sequence<kCount - 1>());
}

template <class T>
constexpr std::size_t count_fields() {
  static_assert(Aggregate<T>, "reflection takes plain structs only: no constructors, no private fields, no virtuals");
  constexpr std::size_t count = count_initializers<T>();
  static_assert(count <= kMostFields, "reflection takes structs with up to 32 fields of types that can be moved");
  static_assert(!has_base<T, count>(), "reflection does not take structs with a base class: make it a field");
  static_assert(!has_array<T, count>(), "reflection does not take C arrays: use std::array");
  return count;
}

}  // namespace detail

template <class T> inline constexpr std::size_t field_count = detail::count_fields<std::remove_cv_t<T>>();

/// A tuple of references to the fields, in order.
template <class T>
requires Aggregate<std::remove_cv_t<T>> constexpr auto fields(T& object) {
  return detail::tie<field_count<T>>(object);
}

template <class T> using FieldReferences = decltype(fields(std::declval<T&>()));
template <class T, std::size_t I>
using FieldType = std::remove_cvref_t<std::tuple_element_t<I, FieldReferences<T>>>;

namespace detail {

// An object that is declared and never defined: only the names of its fields' addresses are read.
#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wundefined-var-template"
#pragma clang diagnostic ignored "-Wundefined-internal"
#endif
template <class T> struct Holder {
  T object;
};
template <class T> extern Holder<T> held;

template <class T> constexpr const char* type_text() { return __PRETTY_FUNCTION__; }
template <auto kAddress> constexpr const char* address_text() { return __PRETTY_FUNCTION__; }

template <class T, std::size_t I>
constexpr std::string_view field_text() {
  return address_text<__builtin_addressof(std::get<I>(fields(held<T>.object)))>();
}
#if defined(__clang__)
#pragma clang diagnostic pop
#endif

// The last identifier of "... [with T = kiln::nn::Conv<int>]" (g++) or "... [T = kiln::nn::Conv<int>]" (clang),
// without the arguments of a template.
constexpr std::string_view last_identifier(std::string_view text) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  std::size_t end = text.size(), depth = 0;
  for (; end > 0 && (depth > 0 || !is_letter(text[end - 1])); --end) {
    if (text[end - 1] == '>') ++depth;
    if (text[end - 1] == '<') --depth;
  }
  std::size_t begin = end;
  while (begin > 0 && is_letter(text[begin - 1])) --begin;
  return text.substr(begin, end - begin);
}

}  // namespace detail

/// "Conv2d": the type's own name, without namespaces and template arguments.
template <class T> constexpr std::string_view type_name() { return detail::last_identifier(detail::type_text<T>()); }

template <class T>
inline constexpr auto field_name_list = []<std::size_t... I>(std::index_sequence<I...>) {
  return std::array<std::string_view, sizeof...(I)>{detail::last_identifier(detail::field_text<T, I>())...};
}(std::make_index_sequence<field_count<T>>());

/// The names of the fields in order, as a std::array of std::string_view.
template <class T> constexpr const auto& field_names() { return field_name_list<std::remove_cv_t<T>>; }

/// Calls visit(name, field) for each field in order; fields of a const object are const, save `mutable` ones.
template <class T, class F>
requires Aggregate<std::remove_cv_t<T>> constexpr void for_each_field(T& object, F&& visit) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    [[maybe_unused]] const auto references = fields(object);
    (visit(field_names<T>()[I], std::get<I>(references)), ...);
  }(std::make_index_sequence<field_count<T>>());
}

}  // namespace kiln::reflect

// Equality, hash and text of plain structs, field by field through reflect.hpp. Fields may be structs, lists,
// optionals, variants, tuples, maps, strings, numbers, enums and pointers.
#pragma once
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "kiln/core/reflect/reflect.hpp"
#include "kiln/core/reflect/reflect_enum.hpp"
#include "kiln/core/text.hpp"

namespace kiln::reflect {

template <class T>
concept StringLike = std::is_convertible_v<const T&, std::string_view>;
template <class T>
concept OptionalLike = requires(const T& value) {
  *value;
  value.has_value();
};
template <class T>
concept SmartPointer = requires(const T& value) {
  *value;
  value.get();
};
template <class T>
concept VariantLike = requires { std::variant_size<T>::value; };
template <class T>
concept ListLike = requires(const T& value) {
  typename T::value_type;
  value.begin();
  value.end();
};
template <class T>
concept MapLike = ListLike<T> && requires { typename T::mapped_type; };

namespace detail {

template <std::size_t kSize, class F>
constexpr void for_each_index(F&& visit) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (visit(std::integral_constant<std::size_t, I>()), ...);
  }(std::make_index_sequence<kSize>());
}

// Calls visit(index, value) for a variant's alternative; the index tells alternatives of the same type apart.
template <class V, class F>
void visit_alternative(const V& variant, F&& visit) {
  for_each_index<std::variant_size_v<V>>([&](auto i) {
    if (variant.index() == i) visit(i, *std::get_if<i>(&variant));
  });
}

template <class T>
concept HasName = requires(const T value) {
  { name(value) } -> std::convertible_to<std::string_view>;
};
template <class T>
concept HasText = requires(std::string out, const T& value) { append(out, value); };

template <class> inline constexpr bool kNever = false;

// The mixing step of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
constexpr std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) + 0x9e3779b97f4a7c15u;
  hash = (hash ^ hash >> 30) * 0xbf58476d1ce4e5b9u;
  hash = (hash ^ hash >> 27) * 0x94d049bb133111ebu;
  return hash ^ hash >> 31;
}

}  // namespace detail

/// Whether two values are equal, field by field. NaN equals NaN, so that a value always equals itself; pointers are
/// equal where they point to the same object; other types are compared with ==.
template <class T>
bool equal(const T& a, const T& b) {
  if constexpr (Aggregate<T> || TupleLike<T>) {
    constexpr std::size_t size = [] {
      if constexpr (Aggregate<T>) return field_count<T>;
      else return std::tuple_size_v<T>;
    }();
    bool same = true;
    detail::for_each_index<size>([&](auto i) {
      if constexpr (Aggregate<T>) same = same && equal(std::get<i>(fields(a)), std::get<i>(fields(b)));
      else same = same && equal(std::get<i>(a), std::get<i>(b));
    });
    return same;
  } else if constexpr (StringLike<T>) {
    return std::string_view(a) == std::string_view(b);
  } else if constexpr (OptionalLike<T>) {
    return a.has_value() == b.has_value() && (!a.has_value() || equal(*a, *b));
  } else if constexpr (VariantLike<T>) {
    bool same = a.index() == b.index();
    if (same)
      detail::visit_alternative(a, [&](auto i, const auto& value) { same = equal(value, *std::get_if<i>(&b)); });
    return same;
  } else if constexpr (ListLike<T>) {
    auto left = a.begin();
    auto right = b.begin();
    for (; left != a.end() && right != b.end(); ++left, ++right) {
      const typename T::value_type &x = *left, &y = *right;
      if (!equal(x, y)) return false;
    }
    return left == a.end() && right == b.end();
  } else if constexpr (std::is_floating_point_v<T>) {
    return a == b || (a != a && b != b);
  } else {
    return a == b;
  }
}

/// The hash of a value. Equal values have equal hashes, on every platform (pointers excepted). Other types take part by
/// a `std::uint64_t hash_value(const T&)` found by ADL.
template <class T>
std::uint64_t hash(const T& value) {
  using detail::mix;
  if constexpr (requires {
                  { hash_value(value) } -> std::same_as<std::uint64_t>;
                }) {
    return hash_value(value);
  } else if constexpr (Aggregate<T>) {
    std::uint64_t result = field_count<T>;
    for_each_field(value, [&](std::string_view, const auto& field) { result = mix(result, hash(field)); });
    return result;
  } else if constexpr (StringLike<T>) {
    std::uint64_t result = std::string_view(value).size();
    for (const char letter : std::string_view(value)) result = mix(result, static_cast<unsigned char>(letter));
    return result;
  } else if constexpr (OptionalLike<T>) {
    return value.has_value() ? mix(1, hash(*value)) : 0;
  } else if constexpr (VariantLike<T>) {
    std::uint64_t result = value.index();
    detail::visit_alternative(value, [&](auto, const auto& alternative) { result = mix(result, hash(alternative)); });
    return result;
  } else if constexpr (TupleLike<T>) {
    std::uint64_t result = std::tuple_size_v<T>;
    detail::for_each_index<std::tuple_size_v<T>>([&](auto i) { result = mix(result, hash(std::get<i>(value))); });
    return result;
  } else if constexpr (ListLike<T>) {
    std::uint64_t result = 0, length = 0;
    for (const typename T::value_type& element : value) result = mix(result, hash(element)), ++length;
    return mix(result, length);
  } else if constexpr (std::is_floating_point_v<T>) {
    if (value != value) return mix(0, 1);
    return mix(0, std::bit_cast<std::uint64_t>(static_cast<double>(value == 0 ? T{0} : value)));
  } else if constexpr (std::is_integral_v<T> || std::is_enum_v<T>) {
    return mix(0, static_cast<std::uint64_t>(value));
  } else if constexpr (SmartPointer<T>) {
    return mix(0, reinterpret_cast<std::uintptr_t>(value.get()));
  } else if constexpr (std::is_pointer_v<T>) {
    return mix(0, reinterpret_cast<std::uintptr_t>(value));
  } else {
    static_assert(detail::kNever<T>, "give this type a hash_value(const T&) in its namespace");
  }
}

/// Appends "Conv{stride=[1, 1], padding=[0, 0], groups=1}". Lists and maps are in brackets, tuples in parentheses,
/// strings in quotes; an empty optional or pointer is "none"; an enum is its `name(value)`, else its identifier, else a
/// number; a type with neither fields nor an `append` is its own name.
template <class T>
void append_text(std::string& out, const T& value) {
  bool first = true;
  const auto separate = [&] {
    if (!first) out += ", ";
    first = false;
  };
  if constexpr (std::is_enum_v<T>) {
    if constexpr (detail::HasName<T>) out += name(value);
    else if (const std::string_view identifier = enumerator_name(value); !identifier.empty()) out += identifier;
    else append(out, static_cast<std::int64_t>(value));
  } else if constexpr (StringLike<T>) {
    append(out, text('"', std::string_view(value), '"'));
  } else if constexpr (OptionalLike<T> || SmartPointer<T>) {
    if (value) append_text(out, *value);
    else out += "none";
  } else if constexpr (VariantLike<T>) {
    detail::visit_alternative(value, [&](auto, const auto& alternative) { append_text(out, alternative); });
  } else if constexpr (detail::HasText<T> && !std::is_pointer_v<T>) {
    append(out, value);
  } else if constexpr (MapLike<T>) {
    out += '{';
    for (const auto& [key, mapped] : value) {
      separate();
      append_text(out, key);
      out += ": ";
      append_text(out, mapped);
    }
    out += '}';
  } else if constexpr (ListLike<T>) {
    out += '[';
    for (const typename T::value_type& element : value) {
      separate();
      append_text(out, element);
    }
    out += ']';
  } else if constexpr (TupleLike<T>) {
    out += '(';
    detail::for_each_index<std::tuple_size_v<T>>([&](auto i) {
      separate();
      append_text(out, std::get<i>(value));
    });
    out += ')';
  } else if constexpr (Aggregate<T>) {
    out += type_name<T>();
    out += '{';
    for_each_field(value, [&](std::string_view name, const auto& field) {
      separate();
      out += name;
      out += '=';
      append_text(out, field);
    });
    out += '}';
  } else {
    out += type_name<T>();
  }
}

template <class T>
std::string to_text(const T& value) {
  std::string out;
  append_text(out, value);
  return out;
}

}  // namespace kiln::reflect

// Converts plain structs to bytes and back, field by field through reflection: numbers, enumerators (by name), lists,
// optionals, variants and structs of these. A new field of a struct needs no code here.
#pragma once
#include <bit>
#include <concepts>
#include <limits>

#include "kiln/core/error/shown.hpp"
#include "kiln/core/reflect/reflect_enum.hpp"
#include "kiln/core/reflect/reflect_values.hpp"
#include "kiln/core/scalar.hpp"
#include "kiln/ops/scope/float32_precision.hpp"
#include "kiln/wire/reader.hpp"
#include "kiln/wire/writer.hpp"

namespace kiln::wire {

/// A list whose type limits its length (InlineList).
template <class T>
concept ShortList = reflect::ListLike<T> && requires { T::kCapacity; };

/// Returns the name of the enumerator with this value; empty where there is none.
template <reflect::ScopedEnum T>
std::string_view name_of(T value) {
  const std::string_view identifier = reflect::enumerator_name(value);
  if constexpr (reflect::detail::HasName<T>) return identifier.empty() ? identifier : name(value);
  else return identifier;
}

template <class T>
void write_field(Writer& out, const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    out.byte(value);
  } else if constexpr (std::is_integral_v<T>) {
    if constexpr (std::is_signed_v<T>) out.integer(value);
    else out.whole(value);
  } else if constexpr (std::is_same_v<T, double>) {
    out.fixed(std::bit_cast<std::uint64_t>(value), 8);
  } else if constexpr (std::is_same_v<T, float>) {
    out.fixed(std::bit_cast<std::uint32_t>(value), 4);
  } else if constexpr (reflect::ScopedEnum<T>) {
    const std::string_view name = name_of(value);
    require<ArgumentError>(!name.empty(), reflect::type_name<T>(), ": ", static_cast<std::int64_t>(value),
                           " is none of its values");
    out.name(name);
  } else if constexpr (std::is_same_v<T, Scalar>) {
    write_field(out, value.kind());
    if (value.kind() == Kind::Float) write_field(out, value.template to<double>());
    else write_field(out, value.template to<std::int64_t>());
  } else if constexpr (reflect::StringLike<T>) {
    out.text(value);
  } else if constexpr (reflect::OptionalLike<T>) {
    out.byte(value.has_value());
    if (value) write_field(out, *value);
  } else if constexpr (reflect::VariantLike<T>) {
    out.whole(value.index());
    reflect::detail::visit_alternative(value, [&](auto, const auto& alternative) { write_field(out, alternative); });
  } else if constexpr (reflect::TupleLike<T>) {
    reflect::detail::for_each_index<std::tuple_size_v<T>>([&](auto i) { write_field(out, std::get<i>(value)); });
  } else if constexpr (reflect::ListLike<T>) {
    out.whole(static_cast<std::uint64_t>(value.size()));
    for (const typename T::value_type& element : value) write_field(out, element);
  } else if constexpr (reflect::Aggregate<T>) {
    reflect::for_each_field(value, [&](std::string_view, const auto& field) { write_field(out, field); });
  } else {
    static_assert(reflect::detail::kNever<T>, "fields of this type do not travel");
  }
}

template <class T> inline constexpr char kMeaning = 0;  // its address identifies the type

template <class T>
void read_field(Reader& in, T& value);

template <std::integral T>
T read_integer(Reader& in) {
  const auto number = [&] {
    if constexpr (std::is_signed_v<T>) return in.integer();
    else return in.whole();
  }();
  if (number < std::numeric_limits<T>::min() || number > std::numeric_limits<T>::max())
    in.wrong(number, " does not fit into ", 8 * sizeof(T), " bits");
  return static_cast<T>(number);
}

template <reflect::ScopedEnum T>
T read_enumerator(Reader& in) {
  Reader::Name& name = in.name();
  if (name.resolved_by != &kMeaning<T>) {
    bool known = false;
    for (const auto& [enumerator, text] : reflect::enumerators<T>()) {
      if (text != name.text) continue;
      name.number = static_cast<std::uint64_t>(enumerator);
      known = true;
    }
    if (!known)
      in.wrong("this version of Kiln knows no ", reflect::type_name<T>(), " '", shown(name.text),
               "': another one wrote it, or it is damaged");
    name.resolved_by = &kMeaning<T>;
  }
  return static_cast<T>(name.number);
}

inline Scalar read_scalar(Reader& in) {
  Kind kind = Kind::Float;
  read_field(in, kind);
  double real = 0;
  std::int64_t whole = 0;
  if (kind == Kind::Float) read_field(in, real);
  else read_field(in, whole);
  if (kind == Kind::Bool && (whole < 0 || whole > 1)) in.wrong("a truth value of ", whole);
  return kind == Kind::Float ? Scalar(real) : kind == Kind::Int ? Scalar(whole) : Scalar(whole != 0);
}

template <class T>
void read_field(Reader& in, T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    value = in.flag();
  } else if constexpr (std::is_integral_v<T>) {
    value = read_integer<T>(in);
  } else if constexpr (std::is_same_v<T, double>) {
    value = std::bit_cast<double>(in.fixed(8));
  } else if constexpr (std::is_same_v<T, float>) {
    value = std::bit_cast<float>(static_cast<std::uint32_t>(in.fixed(4)));
  } else if constexpr (std::is_same_v<T, Float32Precision::Level>) {
    value = in.lacks_precision() ? Float32Precision::Highest : read_enumerator<T>(in);
  } else if constexpr (reflect::ScopedEnum<T>) {
    value = read_enumerator<T>(in);
  } else if constexpr (std::is_same_v<T, Scalar>) {
    value = read_scalar(in);
  } else if constexpr (reflect::StringLike<T>) {
    value = in.text(in.left());
  } else if constexpr (reflect::OptionalLike<T>) {
    value.reset();
    if (in.flag()) read_field(in, value.emplace());
  } else if constexpr (reflect::VariantLike<T>) {
    const std::uint64_t index = in.whole();
    if (index >= std::variant_size_v<T>) in.wrong("alternative ", index, " of ", std::variant_size_v<T>);
    reflect::detail::for_each_index<std::variant_size_v<T>>([&](auto i) {
      if (i == index) read_field(in, value.template emplace<i>());
    });
  } else if constexpr (reflect::TupleLike<T>) {
    reflect::detail::for_each_index<std::tuple_size_v<T>>([&](auto i) { read_field(in, std::get<i>(value)); });
  } else if constexpr (reflect::ListLike<T>) {
    std::size_t most = std::numeric_limits<std::size_t>::max();
    if constexpr (ShortList<T>) most = T::kCapacity;
    value = {};
    for (std::size_t count = in.length(most, "entries"); count > 0; --count) {
      typename T::value_type element{};
      read_field(in, element);
      value.push_back(std::move(element));
    }
  } else {
    reflect::for_each_field(value, [&](std::string_view, auto& field) { read_field(in, field); });
  }
}

/// Appends the schema of a type: "{dim:i32,log:bool}". An enum is only its name, as its values are written by name.
template <class T>
void append_schema(std::string& out) {
  if constexpr (std::is_same_v<T, bool>) {
    out += "bool";
  } else if constexpr (std::is_arithmetic_v<T>) {
    out += kiln::text(std::is_floating_point_v<T> ? 'f' : std::is_signed_v<T> ? 'i' : 'u', 8 * sizeof(T));
  } else if constexpr (reflect::ScopedEnum<T>) {
    out += reflect::type_name<T>();
  } else if constexpr (std::is_same_v<T, Scalar>) {
    out += "number";
  } else if constexpr (reflect::StringLike<T>) {
    out += "text";
  } else if constexpr (reflect::OptionalLike<T>) {
    append_schema<typename T::value_type>(out);
    out += '?';
  } else if constexpr (reflect::VariantLike<T>) {
    reflect::detail::for_each_index<std::variant_size_v<T>>([&](auto i) {
      out += i == 0 ? '(' : '|';
      append_schema<std::variant_alternative_t<i, T>>(out);
    });
    out += ')';
  } else if constexpr (reflect::TupleLike<T>) {
    reflect::detail::for_each_index<std::tuple_size_v<T>>([&](auto i) {
      out += i == 0 ? '(' : ',';
      append_schema<std::tuple_element_t<i, T>>(out);
    });
    out += ')';
  } else if constexpr (reflect::ListLike<T>) {
    out += '[';
    append_schema<typename T::value_type>(out);
    out += ']';
  } else {
    out += '{';
    reflect::detail::for_each_index<reflect::field_count<T>>([&](auto i) {
      out += kiln::text(i == 0 ? "" : ",", reflect::field_names<T>()[i], ':');
      append_schema<reflect::FieldType<T, i>>(out);
    });
    out += '}';
  }
}

/// The hash of a text, equal on every machine.
inline std::uint64_t fingerprint_of(std::string_view schema) { return reflect::hash(schema); }

}  // namespace kiln::wire

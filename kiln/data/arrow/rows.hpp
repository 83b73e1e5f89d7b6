// Reads structs from Arrow's columns.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/core/reflect/reflect_enum.hpp"
#include "kiln/data/arrow/column.hpp"
#include "kiln/data/table/row_types.hpp"

namespace kiln::arrow {

using namespace row;

/// The number of children that are looked up for a T.
template <class T>
consteval std::size_t children_in() {
  if constexpr (Leaf<T>) {
    return 0;
  } else if constexpr (reflect::OptionalLike<T>) {
    return children_in<typename T::value_type>();
  } else if constexpr (List<T>) {
    return children_in<Item<T>>();
  } else {
    static_assert(reflect::Aggregate<T>, "a column is not read as this type");
    return []<class... F>(std::type_identity<std::tuple<F...>>) {
      return (std::size_t{0} + ... + (1 + children_in<std::remove_cvref_t<F>>()));
    }(std::type_identity<reflect::FieldReferences<T>>());
  }
}

enum class Wanted { Truth, Whole, Number, Text, List, Struct };
/// Throws DataError if the field's elements are not of that kind.
void require_kind(const Field& field, Wanted wanted);
/// The child of that name. Throws DataError if there is none.
std::size_t find_child(const Field& field, std::string_view name);

/// Appends the places of the children that a T reads, in the order in which RowReader meets them.
template <class T>
void find_children(const Field& of, std::vector<std::size_t>& found) {
  const Field& field = of.meaning();
  if constexpr (Leaf<T>) {
    require_kind(field, std::same_as<T, bool>     ? Wanted::Truth
                        : std::integral<T>        ? Wanted::Whole
                        : std::is_arithmetic_v<T> ? Wanted::Number
                                                  : Wanted::Text);
  } else if constexpr (reflect::OptionalLike<T>) {
    find_children<typename T::value_type>(of, found);
  } else if constexpr (reflect::MapLike<T>) {
    require_kind(field, Wanted::List);
    const Field& entry = field.children[0].meaning();
    require_kind(entry, Wanted::Struct);
    require<DataError>(entry.children.size() == 2, "Arrow: column '", shown(field.path), "' is no map");
    // A map's key and value are known by their places.
    found.push_back(0);
    find_children<typename T::key_type>(entry.children[0], found);
    found.push_back(1);
    find_children<typename T::mapped_type>(entry.children[1], found);
  } else if constexpr (List<T>) {
    require_kind(field, Wanted::List);
    find_children<Item<T>>(field.children[0], found);
  } else {
    require_kind(field, Wanted::Struct);
    T fields{};
    reflect::for_each_field(fields, [&]<class F>(std::string_view name, const F&) {
      const std::size_t child = find_child(field, name);
      found.push_back(child);
      find_children<F>(field.children[child], found);
    });
  }
}

/// Why an element that is not null cannot be read as a T; empty if it can.
template <Leaf T>
std::string read_element(const Column& column, std::int64_t i, T& value) {
  const Type& type = column.field->type;
  if constexpr (std::floating_point<T>) {
    value = static_cast<T>(column.number(i));
  } else if constexpr (std::integral<T>) {
    const std::int64_t whole = type.layout == Layout::Bits ? std::int64_t{column.bit(i)} : column.integer(i);
    const bool is_unsigned = type.layout == Layout::Integers && type.width == 8 && !type.has_sign;
    if constexpr (std::same_as<T, bool>) {
      if (whole != 0 && whole != 1) return text("is neither 0 nor 1: ", whole);
    } else if (is_unsigned ? !std::in_range<T>(static_cast<std::uint64_t>(whole)) : !std::in_range<T>(whole)) {
      return is_unsigned ? text("is too large a number: ", static_cast<std::uint64_t>(whole))
                         : text("is too large or too small a number: ", whole);
    }
    value = static_cast<T>(whole);
  } else if constexpr (reflect::ScopedEnum<T>) {
    const std::string_view word = column.text(i);
    for (const auto& [enumerator, name] : reflect::enumerators<T>())
      if (name == word) return value = enumerator, "";
    return text("is no ", reflect::type_name<T>(), ": '", shown(word), "'");
  } else {
    const std::string_view letters = column.text(i);
    const auto* const first = reinterpret_cast<const typename T::value_type*>(letters.data());
    value.assign(first, first + letters.size());
  }
  return "";
}

/// Reads values of the row `row`, which errors name.
class RowReader {
 public:
  explicit RowReader(std::int64_t row) : row_(row) {}

  /// Reads element `i`; `children` are the places that find_children() found.
  template <class T>
  void read(T& value, const Column& column, std::int64_t i, const std::size_t* children) const {
    if constexpr (reflect::OptionalLike<T>) {
      value.reset();
      if (!is_null(column, i)) read(value.emplace(), column, i, children);
    } else {
      if (is_null(column, i)) fail_at(column, kMissing);
      if (column.dictionary.empty()) read_value(value, column, i, children);
      else read_value(value, column.dictionary.front(), column.integer(i), children);
    }
  }

 private:
  template <class T>
  void read_value(T& value, const Column& column, std::int64_t i, const std::size_t* children) const {
    if constexpr (Leaf<T>) {
      if (const std::string problem = read_element(column, i, value); !problem.empty()) fail_at(column, problem);
    } else if constexpr (List<T>) {
      const auto [first, count] = column.items(i);
      value.clear();
      for (std::int64_t item = first; item < first + count; ++item) {
        Item<T> read_item{};
        read(read_item, column.children[0], item, children);
        if constexpr (reflect::MapLike<T>) value.insert_or_assign(std::move(read_item.key), std::move(read_item.value));
        else value.push_back(std::move(read_item));
      }
    } else {
      reflect::for_each_field(value, [&]<class F>(std::string_view, F& field) {
        read(field, column.children[*children], column.offset + i, children + 1);
        children += 1 + children_in<F>();
      });
    }
  }

  /// A null, or a word of a dictionary that is one.
  static bool is_null(const Column& column, std::int64_t i) {
    return column.is_null(i) || (!column.dictionary.empty() && is_null(column.dictionary.front(), column.integer(i)));
  }
  [[noreturn]] void fail_at(const Column& column, std::string_view problem) const;

  std::int64_t row_;
};

}  // namespace kiln::arrow

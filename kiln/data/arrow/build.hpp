// Makes Arrow's arrays of structs, and of tensors.
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kiln/core/error/error.hpp"
#include "kiln/core/half.hpp"
#include "kiln/core/reflect/reflect_enum.hpp"
#include "kiln/core/tensor_data.hpp"
#include "kiln/data/arrow/abi.hpp"
#include "kiln/data/table/row_types.hpp"

namespace kiln::arrow {

/// A column that grows; its buffers become those of an array.
class Builder {
 public:
  Builder(std::string name, std::string format, bool may_be_null);
  /// A column of a tensor's rows, whose elements stay where they are (truth values become bits). Throws DTypeError for
  /// bfloat16, which Arrow has no type for; ShapeError for a tensor without dimensions.
  Builder(std::string name, TensorData tensor);

  std::vector<Builder>& children() { return children_; }
  std::int64_t length() const { return length_; }

  void add_bit(bool bit);
  void add_element(std::span<const std::byte> bytes);
  void add_text(std::span<const std::byte> bytes);
  /// The end of a list, after its items were added to the child. Throws DataError beyond 2^31 entries of maps.
  void end_list();
  /// The end of a struct, after its fields were added to the children.
  void end_struct() { add_validity(true); }
  void add_null();

  /// Fill `out`; the column is then of no more use. Nothing is thrown but bad_alloc, and then `out` is unchanged.
  void fill(ArrowSchema* out) const;
  void release_to(ArrowArray* out) &&;

 private:
  struct Buffers;

  void add_validity(bool valid);
  void add_nothing();
  void end_offset(std::size_t end);

  std::string name_, format_;
  bool may_be_null_;
  std::int64_t length_ = 0, nulls_ = 0, bits_ = 0;
  std::size_t width_ = 0;  // bytes of an element, or of an offset
  std::vector<std::uint8_t> validity_;
  std::vector<std::byte> data_, bytes_;
  std::vector<TensorData> tensor_;  // at most one, in place of data_
  std::vector<Builder> children_;
};

using namespace row;

template <class T>
std::string format_of() {
  if constexpr (reflect::OptionalLike<T>) return format_of<typename T::value_type>();
  else if constexpr (std::same_as<T, std::string> || reflect::ScopedEnum<T>) return "U";
  else if constexpr (ByteList<T>) return "Z";
  else if constexpr (std::same_as<T, bool>) return "b";
  else if constexpr (std::floating_point<T>) return sizeof(T) == 4 ? "f" : "g";
  else if constexpr (std::integral<T>)
    return {"cCsSiIlL"[(sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 2 : sizeof(T) == 4 ? 4 : 6) + !std::signed_integral<T>]};
  else if constexpr (reflect::MapLike<T>) return "+m";
  else if constexpr (List<T>) return "+L";
  else {
    static_assert(reflect::Aggregate<T>, "a field of this type is not written to a column");
    return "+s";
  }
}

/// An empty column for values of type T.
template <class T>
Builder builder_of(std::string name, bool may_be_null = false) {
  if constexpr (reflect::OptionalLike<T>) {
    static_assert(!reflect::OptionalLike<typename T::value_type>, "a column knows one kind of null");
    return builder_of<typename T::value_type>(std::move(name), true);
  } else {
    static_assert(!std::same_as<T, long double>, "Arrow has no long double");
    Builder builder(std::move(name), format_of<T>(), may_be_null);
    if constexpr (reflect::MapLike<T>) {
      Builder& entries = builder.children().emplace_back("entries", "+s", false);
      entries.children().push_back(builder_of<typename T::key_type>("key"));
      entries.children().push_back(builder_of<typename T::mapped_type>("value"));
    } else if constexpr (List<T>) {
      builder.children().push_back(builder_of<Item<T>>("item"));
    } else if constexpr (!Leaf<T>) {
      const T fields{};
      reflect::for_each_field(fields, [&]<class F>(std::string_view field, const F&) {
        builder.children().push_back(builder_of<F>(std::string(field)));
      });
    }
    return builder;
  }
}

/// Appends a value. Throws DataError for an enum without a name.
template <class T>
void add(Builder& column, const T& value) {
  if constexpr (reflect::OptionalLike<T>) {
    if (value) add(column, *value);
    else column.add_null();
  } else if constexpr (std::same_as<T, bool>) {
    column.add_bit(value);
  } else if constexpr (reflect::ScopedEnum<T>) {
    for (const auto& [enumerator, name] : reflect::enumerators<T>())
      if (enumerator == value) return column.add_text(std::as_bytes(std::span(name)));
    fail<DataError>("Arrow: a value has no name among those of ", reflect::type_name<T>());
  } else if constexpr (std::is_arithmetic_v<T>) {
    column.add_element(std::as_bytes(std::span(&value, 1)));
  } else if constexpr (Leaf<T>) {
    column.add_text(std::as_bytes(std::span(value)));
  } else if constexpr (reflect::MapLike<T>) {
    Builder& entries = column.children().front();
    for (const auto& [key, mapped] : value) {
      add(entries.children()[0], key);
      add(entries.children()[1], mapped);
      entries.end_struct();
    }
    column.end_list();
  } else if constexpr (List<T>) {
    for (const auto& item : value) add<Item<T>>(column.children().front(), item);
    column.end_list();
  } else {
    std::size_t child = 0;
    reflect::for_each_field(value,
                            [&](std::string_view, const auto& field) { add(column.children()[child++], field); });
    column.end_struct();
  }
}

}  // namespace kiln::arrow

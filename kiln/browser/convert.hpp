// Items as C++ types and back: numbers, texts, tensors, objects, lists, and plain structs, which are records of their fields.
#pragma once
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "kiln/browser/item.hpp"
#include "kiln/core/error/suggest.hpp"
#include "kiln/core/reflect/reflect.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/tensor/tensor.hpp"

namespace kiln::browser {

/// Where typed arrays go that are given for tensors: Device::best(), until a page names another.
const Device& default_device();
void set_default_device(const Device& device);

/// The elements, for a typed array: halves as float32, which every browser has.
TensorData elements_of(const Value& value);

/// The device of that name (Device::parse). Throws DeviceError where there is none, with what a page can do about it.
Device device_named(std::string_view name);

namespace detail {

template <class T> struct ListOf : std::false_type {};
template <class T> struct ListOf<std::vector<T>> : std::true_type {};
template <class T> struct OptionalOf : std::false_type {};
template <class T> struct OptionalOf<std::optional<T>> : std::true_type {};
template <class T> struct PointerTo : std::false_type {};
template <class T> struct PointerTo<std::shared_ptr<T>> : std::true_type {};
template <class T> struct MapTo : std::false_type {};
template <class T, class C> struct MapTo<std::map<std::string, T, C>> : std::true_type {};
template <class T> struct TensorOf : std::false_type {};
template <int D, class K> struct TensorOf<Tensor<D, K>> : std::true_type {
  static constexpr int kRank = D;
  static constexpr kiln::Kind kKind = K::kKind;
};

/// `where` is what the item is: "read: argument 1", "train: argument 2, 'rate'".
[[noreturn]] void fail_item(std::string_view where, std::string_view expected, const Item& item);
TensorData data_from(const Item& item, std::string_view where);
Value value_from(const Item& item, std::string_view where);
Value tensor_from(const Item& item, std::string_view where, int rank, kiln::Kind kind);
double number_from(const Item& item, std::string_view where, double least, double most, bool whole);
[[noreturn]] void fail_field(std::string_view where, std::string_view name, std::span<const std::string_view> names);

template <class T>
T number_as(const Item& item, std::string_view where) {
  if constexpr (std::is_floating_point_v<T>) {
    constexpr double kMost = std::numeric_limits<double>::infinity();
    return static_cast<T>(number_from(item, where, -kMost, kMost, false));
  } else {
    constexpr double kExact = 9007199254740992.0;  // 2^53: JavaScript's numbers are no integers beyond it
    const double least = std::is_signed_v<T> ? std::max(-kExact, double(std::numeric_limits<T>::min())) : 0;
    return static_cast<T>(
        number_from(item, where, least, std::min(kExact, double(std::numeric_limits<T>::max())), true));
  }
}

}  // namespace detail

/// The item as a T. Throws ArgumentError, which says where it was given and what it should be.
template <class T>
T from_item(const Item& item, std::string_view where) {
  const auto must = [&]<class H>(const H* held, std::string_view expected) -> const H& {
    if (!held) detail::fail_item(where, expected, item);
    return *held;
  };
  if constexpr (std::is_same_v<T, Item>) {
    return item;
  } else if constexpr (std::is_same_v<T, bool>) {
    return must(std::get_if<bool>(&item.is), "true or false");
  } else if constexpr (std::is_arithmetic_v<T>) {
    return detail::number_as<T>(item, where);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return must(std::get_if<std::string>(&item.is), "a text");
  } else if constexpr (std::is_same_v<T, TensorData>) {
    return detail::data_from(item, where);
  } else if constexpr (std::is_same_v<T, Value>) {
    return detail::value_from(item, where);
  } else if constexpr (detail::TensorOf<T>::value) {
    return T(detail::tensor_from(item, where, detail::TensorOf<T>::kRank, detail::TensorOf<T>::kKind));
  } else if constexpr (std::is_same_v<T, Callback>) {
    return must(std::get_if<Callback>(&item.is), "a function");
  } else if constexpr (detail::OptionalOf<T>::value) {
    return std::holds_alternative<std::nullptr_t>(item.is) ? T() : T(from_item<typename T::value_type>(item, where));
  } else if constexpr (detail::PointerTo<T>::value) {
    using Held = std::remove_const_t<typename T::element_type>;
    const auto* const object = std::get_if<Object>(&item.is);
    auto found = object ? object->template as<Held>() : nullptr;
    if (!found) detail::fail_item(where, text("a ", reflect::type_name<Held>()), item);
    return found;
  } else if constexpr (detail::ListOf<T>::value) {
    T list;
    for (const Item& each : must(std::get_if<Item::List>(&item.is), "a list"))
      list.push_back(from_item<typename T::value_type>(each, text(where, ", item ", list.size())));
    return list;
  } else if constexpr (detail::MapTo<T>::value) {
    T map;
    for (const auto& [name, each] : must(std::get_if<Item::Record>(&item.is), "an object"))
      map.emplace(name, from_item<typename T::mapped_type>(each, text(where, ", '", name, "'")));
    return map;
  } else {
    T object{};
    for (const auto& [name, each] : must(std::get_if<Item::Record>(&item.is), "an object")) {
      bool known = false;
      reflect::for_each_field(object, [&, &name = name, &each = each]<class F>(std::string_view field, F& value) {
        if (field != name) return;
        known = true;
        value = from_item<F>(each, text(where, ", '", name, "'"));
      });
      if (!known) detail::fail_field(where, name, reflect::field_names<T>());
    }
    return object;
  }
}

/// The item that JavaScript gets for a T: null, true, a number, a string, a Tensor, a typed array, a Handle, a list, an object.
template <class T>
Item to_item(T value) {
  if constexpr (std::is_same_v<T, Item> || std::is_same_v<T, bool> || std::is_same_v<T, std::string> ||
                std::is_same_v<T, TensorData> || std::is_same_v<T, Value> || std::is_same_v<T, Object>) {
    return Item(std::move(value));
  } else if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<double>(value);
  } else if constexpr (detail::TensorOf<T>::value) {
    return value.value();
  } else if constexpr (detail::OptionalOf<T>::value) {
    return value ? to_item(*std::move(value)) : Item();
  } else if constexpr (detail::PointerTo<T>::value) {
    return value ? Item(Object(std::move(value))) : Item();
  } else if constexpr (detail::ListOf<T>::value) {
    Item::List list;
    for (auto&& each : value) list.push_back(to_item<typename T::value_type>(each));
    return list;
  } else if constexpr (detail::MapTo<T>::value) {
    Item::Record record;
    for (auto& [name, each] : value) record.emplace_back(name, to_item(std::move(each)));
    return record;
  } else {
    Item::Record record;
    reflect::for_each_field(value, [&](std::string_view name, auto& each) {
      record.emplace_back(std::string(name), to_item(std::move(each)));
    });
    return record;
  }
}

}  // namespace kiln::browser

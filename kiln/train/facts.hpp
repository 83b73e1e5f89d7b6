// Facts that determine the course of training besides the configuration, if they can be written down: optimizer, rates,
// data. A resumed run compares them with those of its checkpoint, since with others it could not reproduce the same
// bits.
#pragma once
#include <span>
#include <string>
#include <type_traits>

#include "kiln/core/config/config.hpp"
#include "kiln/core/error/error.hpp"
#include "kiln/optim/optimizer.hpp"

namespace kiln::training {

/// What is known of a run, by name; null if unknown.
using RunFacts = Json::Object;

template <class T> constexpr bool is_describable();

template <class T, std::size_t... I>
constexpr bool are_describable(std::index_sequence<I...>) {
  return (is_describable<reflect::FieldType<T, I>>() && ...);
}
template <class... T>
constexpr bool are_describable(const std::variant<T...>*) {
  return (is_describable<T>() && ...);
}

/// Can to_json() write it?
template <class T>
constexpr bool is_describable() {
  if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, std::string> || config::HasJson<T>)
    return true;
  else if constexpr (reflect::VariantLike<T>) return are_describable(static_cast<const T*>(nullptr));
  else if constexpr (reflect::MapLike<T>)
    return std::is_same_v<typename T::key_type, std::string> && is_describable<typename T::mapped_type>();
  else if constexpr (reflect::OptionalLike<T> || reflect::ListLike<T>) return is_describable<typename T::value_type>();
  else if constexpr (reflect::Aggregate<T> && !reflect::TupleLike<T>)
    return are_describable<T>(std::make_index_sequence<reflect::field_count<T>>());
  else return false;
}

/// Null for what JSON cannot hold, such as a NaN.
Json fact(FunctionRef<Json()> describe);

/// {"CosineConfig": {"peak": 0.001, ...}}; null if it cannot be written.
template <class T>
Json fact_from(const T& config) {
  if constexpr (is_describable<T>())
    return fact([&] { return Json{Json::Object{{std::string(reflect::type_name<T>()), to_json(config)}}}; });
  else return {};
}

/// The first group has the optimizer's own rule.
Json optimizer_fact(std::span<const ParamGroup> groups, const ClipOptions& clip);

/// The fact of an optimizer of Kiln, or of a struct of optimizers.
template <class O>
Json optimizer_fact(const O& optimizer) {
  if constexpr (requires { optimizer_fact(optimizer.groups(), optimizer.clip()); }) {
    return optimizer_fact(optimizer.groups(), optimizer.clip());
  } else if constexpr (requires { optimizer.config(); }) {
    return fact_from(optimizer.config());
  } else if constexpr (reflect::Aggregate<O>) {
    Json::Object each;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      const auto fields = reflect::fields(optimizer);
      (each.emplace_back(std::string(reflect::field_names<O>()[I]), optimizer_fact(std::get<I>(fields))), ...);
    }(std::make_index_sequence<reflect::field_count<O>>());
    return Json{std::move(each)};
  } else {
    return {};
  }
}

}  // namespace kiln::training

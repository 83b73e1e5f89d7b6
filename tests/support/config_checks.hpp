// Tests each number of a config as 0, negative, infinite, NaN and left out, with every function that takes the config.
// A use of such a config must either work, or throw an error that names the config and the wrong field.
#pragma once
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "kiln/core/config/config.hpp"
#include "kiln/core/error/error.hpp"
#include "kiln/core/reflect/reflect.hpp"

namespace kiln::config_checks {

/// Calls f(path, number) for each number in a config; number is a T& or a std::optional<T>&.
template <class T, class F>
void visit_numbers(T& value, const std::string& path, F& f) {
  if constexpr (std::is_same_v<T, bool> || std::is_enum_v<T> || std::is_same_v<T, Dim>) {
  } else if constexpr (std::is_arithmetic_v<T>) {
    f(path, value);
  } else if constexpr (reflect::OptionalLike<T>) {
    using Element = typename T::value_type;
    if constexpr (std::is_arithmetic_v<Element> && !std::is_same_v<Element, bool>) f(path, value);
    else if (value) visit_numbers(*value, path, f);
  } else if constexpr (reflect::VariantLike<T>) {
    std::visit([&](auto& held) { visit_numbers(held, path, f); }, value);
  } else if constexpr (config::HasJson<T> || std::is_convertible_v<const T&, std::string_view>) {
  } else if constexpr (reflect::ListLike<T>) {
    for (auto& element : value)
      if constexpr (!std::is_const_v<std::remove_reference_t<decltype(element)>>) visit_numbers(element, path, f);
  } else if constexpr (reflect::Aggregate<T>) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      [[maybe_unused]] const auto fields = reflect::fields(value);
      (visit_numbers(std::get<I>(fields),
                     path.empty() ? std::string(reflect::field_names<T>()[I])
                                  : path + '.' + std::string(reflect::field_names<T>()[I]),
                     f),
       ...);
    }(std::make_index_sequence<reflect::field_count<T>>());
  }
}

/// A config with one number changed.
template <class C>
struct Changed {
  std::string path;   // "expert.hidden"
  std::string label;  // "expert.hidden = nan"
  C config;
};

template <class C>
std::vector<Changed<C>> changes(const C& good) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNumbers[] = {0, -1, std::numeric_limits<double>::quiet_NaN(), kInfinity, -kInfinity};
  std::vector<Changed<C>> all;
  std::size_t count = 0;
  C counted = good;
  const auto count_one = [&](const std::string&, auto&) { ++count; };
  visit_numbers(counted, "", count_one);
  for (std::size_t i = 0; i < count; ++i)
    for (const double number : kNumbers) {
      Changed<C> changed{.path = {}, .label = {}, .config = good};
      std::size_t at = 0;
      const auto put = [&]<class T>(const std::string& path, T& place) {
        using Number = decltype([] {
          if constexpr (reflect::OptionalLike<T>) return typename T::value_type{};
          else return T{};
        }());
        if (at++ != i) return;
        if (!std::is_floating_point_v<Number> && !std::isfinite(number)) return;
        if (std::is_unsigned_v<Number> && number < 0) return;
        place = static_cast<Number>(std::is_floating_point_v<Number> || std::isfinite(number) ? number : 0);
        changed.path = path;
        changed.label = text(path, " = ", number);
      };
      visit_numbers(changed.config, "", put);
      if (!changed.label.empty()) all.push_back(std::move(changed));
    }
  return all;
}

/// Returns the name of a field in error sentences: the last part of its path.
inline std::string last_part(const std::string& path) {
  const std::string last = path.substr(path.rfind('.') + 1);
  return last == "padding_after" || last == "result_padding" ? "padding" : last;
}

/// Tests one use of a config: use(config) says whether its result is right, which is finite numbers, not all 0.
template <class C, class Use>
void expect_checked(std::string_view use_name, const C& good, const Use& use,
                    std::vector<std::string> names = {std::string(reflect::type_name<C>())}) {
  EXPECT_TRUE(use(good)) << use_name << ": the config that is right";
  const auto expect_told = [&](const Error& error, const std::string& path, const std::string& label) {
    const std::string_view said = error.what();
    bool named = false;
    for (const std::string& name : names) named = named || said.find(name) != said.npos;
    EXPECT_TRUE(named && said.find(last_part(path)) != said.npos) << use_name << ", " << label << ": " << said;
  };
  for (const Changed<C>& changed : changes(good)) {
    try {
      EXPECT_TRUE(use(changed.config)) << use_name << ", " << names[0] << ", " << changed.label
                                       << ": neither an error nor a result";
    } catch (const Error& error) { expect_told(error, changed.path, changed.label); }
  }
  try {
    EXPECT_TRUE(use(C{})) << use_name << ", " << names[0] << ", all left out: neither an error nor a result";
  } catch (const Error& error) { expect_told(error, "", "all left out"); }
}

/// Tests a config that can be written as JSON: as it is, and read back from its file.
template <class C, class Use>
void expect_checked_from_json_too(std::string_view use_name, const C& good, const Use& use,
                                  const std::vector<std::string>& names = {std::string(reflect::type_name<C>())}) {
  expect_checked(use_name, good, use, names);
  expect_checked(
      text(use_name, " from JSON"), good,
      [&](const C& config) {
        std::string written;
        try {
          written = write_json(to_json(config));
        } catch (const ConfigError&) { return true; }  // JSON has no such numbers
        return use(from_json<C>(std::string_view(written), "config.json"));
      },
      names);
}

}  // namespace kiln::config_checks

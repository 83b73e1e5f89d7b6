// A config from the command line: --optimizer.beta1=0.8 --epochs 10 --shuffle --no-augment --sizes=64,32 --config run.json
//
//   if (asks_for_help(argc, argv)) return print(options_of<Run>()), 0;
//   const Run run = from_arguments<Run>(argc, argv);
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "kiln/core/config/config.hpp"

namespace kiln {

namespace config {

// A field, as the command line knows it.
struct Option {
  std::string path;        // "optimizer.beta1"
  std::string type{};      // "NUMBER", "cosine|linear"
  std::string fallback{};  // its default as JSON; empty where it must be given
  bool is_text = false;    // a value is taken as it is: strings and enums, or lists of such
  bool is_flag = false;    // may stand without a value
  bool is_list = false;    // commas stand between its elements
};

template <class T>
void describe_type(Option& option) {
  if constexpr (std::is_same_v<T, bool>) {
    option.type = "true|false";
    option.is_flag = true;
  } else if constexpr (std::is_integral_v<T>) {
    option.type = "INTEGER";
  } else if constexpr (std::is_floating_point_v<T>) {
    option.type = "NUMBER";
  } else if constexpr (std::is_same_v<T, std::string>) {
    option.type = "TEXT";
    option.is_text = true;
  } else if constexpr (std::is_enum_v<T>) {
    for (const auto& [enumerator, name] : reflect::enumerators<T>())
      option.type += text(option.type.empty() ? "" : "|", name);
    option.is_text = true;
  } else if constexpr (reflect::OptionalLike<T>) {
    describe_type<typename T::value_type>(option);
    option.is_text = false;  // it may be null
  } else if constexpr (reflect::ListLike<T> && !reflect::MapLike<T>) {
    using Element = std::remove_cvref_t<typename T::value_type>;
    describe_type<Element>(option);
    option.type += ",...";
    option.is_flag = false;
    option.is_list = true;
  } else {
    option.type = "JSON";
  }
}

template <reflect::Aggregate T>
void append_options(std::vector<Option>& options, const T& value, const std::string& prefix, bool has_defaults) {
  reflect::detail::for_each_index<reflect::field_count<T>>([&](auto i) {
    const auto& field = std::get<i>(reflect::fields(value));
    using Field = reflect::FieldType<T, i>;
    const std::string path = prefix + std::string(reflect::field_names<T>()[i]);
    const bool defaulted = has_defaults || has_default<T, i>(field);
    if constexpr (reflect::Aggregate<Field> && !HasJson<Field>) {
      append_options(options, field, path + '.', defaulted);
    } else {
      Option option{.path = path};
      describe_type<Field>(option);
      if (defaulted) option.fallback = write_json(to_json(field));
      options.push_back(std::move(option));
    }
  });
}

// The options of T as words for a terminal, and what the arguments say as JSON: `defaults` with their values put in.
std::string help(const std::vector<Option>& options);
Json read_arguments(int argc, const char* const* argv, const std::vector<Option>& options, std::string& source);

template <class T>
std::vector<Option> options_for() {
  std::vector<Option> options;
  append_options(options, T{}, "", false);
  return options;
}

}  // namespace config

/// --help or -h is among them.
bool asks_for_help(int argc, const char* const* argv);

/// A line for each field of T: its option, what it takes, its default.
template <class T>
std::string options_of() {
  return config::help(config::options_for<T>());
}

/// A T from a program's arguments, argv[0] being its name: --key=value or --key value, where the key of a struct's field is
/// its path; a bool may be said by --key and --no-key; the elements of a list have commas between them, or are JSON, as
/// everything else that is no string may be. --config FILE reads a config first, which other options then change. What is
/// said twice counts as it is said last. Throws ConfigError as from_json() does, or IoError.
template <class T>
T from_arguments(int argc, const char* const* argv) {
  std::string source;
  const Json json = config::read_arguments(argc, argv, config::options_for<T>(), source);
  return from_json<T>(json, source);
}

}  // namespace kiln

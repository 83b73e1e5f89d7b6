// A value of a tokenizer.json with its place, for its readers.
#pragma once
#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>

#include "kiln/core/config/config_path.hpp"

namespace kiln::tokens {

/// The accessors throw DataError if the file does not have what a reader requires.
struct View {
  const Json* json;
  config::ConfigPath place;

  template <class T>
  const T& as(std::string_view expected) const {
    const T* const value = std::get_if<T>(&json->is);
    if (!value) refuse("must be ", expected, ", got ", describe(*json));
    return *value;
  }
  bool is_null() const { return !json || std::holds_alternative<std::nullptr_t>(json->is); }
  /// A member, or null if there is none.
  View operator[](std::string_view key) const {
    const auto& object = as<Json::Object>("an object");
    const auto found = std::ranges::find(object, key, &Json::Object::value_type::first);
    return {found == object.end() ? nullptr : &found->second, place.field(key)};
  }
  /// Throws DataError for a member that is none of these, since it may have a meaning.
  void only(std::initializer_list<std::string_view> known) const {
    for (const auto& [key, value] : as<Json::Object>("an object"))
      if (std::ranges::find(known, key) == known.end())
        View{&value, place.field(key)}.refuse("is not known here; take it out of the file if it changes nothing");
  }
  View need(std::string_view key) const {
    const View member = (*this)[key];
    if (!member.json) refuse("has no '", key, "'");
    return member;
  }
  const Json::List& list() const { return as<Json::List>("a list"); }
  View element(std::size_t i) const { return {&list()[i], place.element(i)}; }
  const std::string& text() const { return as<std::string>("a string"); }
  std::string text_or(std::string_view otherwise) const { return is_null() ? std::string(otherwise) : text(); }
  bool flag_or(bool otherwise) const { return is_null() ? otherwise : as<bool>("true or false"); }
  /// The id of a token.
  std::int64_t number() const {
    const std::int64_t value = as<std::int64_t>("an integer");
    if (value < 0 || value >= std::int64_t{1} << 31) refuse("must be 0 to 2147483647, got ", value);
    return value;
  }
  std::string type() const { return need("type").text(); }

  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    fail<DataError>(place.source, ": ", place.path.empty() ? "the file" : kiln::text("'", place.path, "'"), " ",
                    parts...);
  }
};

}  // namespace kiln::tokens

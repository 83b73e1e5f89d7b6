// The position of a value in a config, and sentences about what is wrong with it.
#pragma once
#include <string>
#include <string_view>
#include <variant>

#include "kiln/core/config/json.hpp"
#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"

namespace kiln::config {

/// A position for error sentences: "gpt.json: 'optimizer.beta1'".
struct ConfigPath {
  std::string_view source;
  std::string path;

  ConfigPath field(std::string_view name) const {
    return {source, path.empty() ? shown(name) : text(path, '.', shown(name))};
  }
  ConfigPath element(std::size_t index) const { return {source, text(path, '[', index, ']')}; }
};

using Place [[deprecated("kiln::config::Place is now ConfigPath")]] = ConfigPath;

[[noreturn]] void throw_mismatch(const ConfigPath& place, const Json& got, const std::string& expected);
template <class... Expected>
[[noreturn]] void throw_mismatch(const ConfigPath& place, const Json& got, const Expected&... expected) {
  throw_mismatch(place, got, text(expected...));
}

template <class T>
const T& expect(const Json& json, const ConfigPath& place, std::string_view expected) {
  if (const auto* const value = std::get_if<T>(&json.is)) return *value;
  throw_mismatch(place, json, std::string(expected));
}

}  // namespace kiln::config

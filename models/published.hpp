// config.json beside published weights: what a model is made of among what others need. A key that is not known is an error,
// since it may change numbers, unless it stands in a list of those that do not.
#pragma once
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "kiln/core/config/config.hpp"
#include "kiln/nn/activation/choice.hpp"

namespace kiln::models {

/// A key that must not be set: absent, null, false, or empty. `why` ends the sentence "'is_decoder' is true, and ...".
struct RefusedKey {
  std::string_view key, why;
};
/// What a family's files may say besides what its model is made of.
struct OtherKeys {
  std::span<const std::string_view>
      harmless;  // change no number while a model is used: rates of dropout, ids of tokens
  std::span<const RefusedKey> refused;
};

/// A config.json.
struct PublishedConfig {
  std::string file;
  Json::Object keys;
  std::string type;  // `model_type`

  bool has(std::string_view key) const;
};
/// Throws ConfigError, or IoError, unless `model_type` is one of `types`; a file without one is of the first of them.
PublishedConfig open_published(const std::string& file, std::initializer_list<std::string_view> types);

/// The keys of the file that are `known`. Others must stand in one of the lists, or in those that all families share, or be
/// null, which says that nothing is set. Throws ConfigError for what is refused or not known.
Json known_keys(const PublishedConfig& config, std::span<const std::string_view> known, const OtherKeys& others);

/// An activation by its name in published files. Throws ConfigError, which names the key, for one that is not known.
nn::ActivationConfig published_activation(const std::string& file, std::string_view key, const std::string& name);

/// Those keys that T has fields for, over `defaults`. Throws ConfigError with the file and the key.
template <class T>
T read_published(const PublishedConfig& config, const OtherKeys& others, T defaults = {}) {
  const auto& names = reflect::field_names<T>();
  const Json json = known_keys(config, {names.data(), names.size()}, others);
  kiln::config::read(json, defaults, kiln::config::Place{config.file, ""}, true);
  return defaults;
}

}  // namespace kiln::models

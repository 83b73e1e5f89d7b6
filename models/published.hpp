// Reads the config.json of published weights: the keys that describe the model, among others. An unknown key is an
// error, because it may change numbers, unless it is in a list of harmless keys.
#pragma once
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "kiln/core/config/config.hpp"
#include "kiln/nn/activation/choice.hpp"

namespace kiln::models {

/// A key that must not be set: absent, null, false, or empty. `why` ends the sentence "'is_decoder' is true, and ...".
struct UnsupportedKey {
  std::string_view key, why;
};
/// The keys of a family's files that do not describe the model.
struct OtherKeys {
  std::span<const std::string_view>
      harmless;  // keys that do not affect the numbers of inference: dropout rates, token ids
  std::span<const UnsupportedKey> refused;
};

/// A parsed config.json.
struct HfConfig {
  std::string file;
  Json::Object keys;
  std::string type;  // `model_type`

  bool has(std::string_view key) const;
};
/// Throws ConfigError or IoError unless `model_type` is one of `types`. A file without that key has the first of them.
HfConfig open_hf_config(const std::string& file, std::initializer_list<std::string_view> types);

/// Returns the keys of the file that are `known`. Others must be in one of the lists, or in those that all families
/// share, or be null, which means that they are not set. Throws ConfigError for a refused or unknown key.
Json known_keys(const HfConfig& config, std::span<const std::string_view> known, const OtherKeys& others);

/// Finds an activation by its name in published files. Throws ConfigError, which names the key, for an unknown name.
nn::ActivationConfig published_activation(const std::string& file, std::string_view key, const std::string& name);

/// Reads the keys for which T has fields over `defaults`. Throws ConfigError with the file and the key.
template <class T>
T read_hf_config(const HfConfig& config, const OtherKeys& others, T defaults = {}) {
  const auto& names = reflect::field_names<T>();
  const Json json = known_keys(config, {names.data(), names.size()}, others);
  kiln::config::read(json, defaults, kiln::config::ConfigPath{config.file, ""}, true);
  return defaults;
}

}  // namespace kiln::models

// config.json beside published weights: keys that a model needs among many that others do.
#pragma once
#include <algorithm>
#include <string>

#include "kiln/core/config/config.hpp"

namespace kiln::models {

/// Those keys of the file that T has fields for; others are passed over. `model_type`, where the file says one, must be
/// `type`. Throws ConfigError with the file and the key, or IoError.
template <class T>
T load_published(const std::string& file, std::string_view type) {
  Json json = parse_json(read_text_file(file), file);
  if (auto* const object = std::get_if<Json::Object>(&json.is)) {
    for (const auto& [key, value] : *object)
      if (const auto* const said = std::get_if<std::string>(&value.is); said && key == "model_type")
        require<ConfigError>(*said == type, file, ": 'model_type' must be \"", type, "\", got \"", shown(*said), '"');
    std::erase_if(*object,
                  [](const auto& entry) { return !std::ranges::count(reflect::field_names<T>(), entry.first); });
  }
  return from_json<T>(json, file);
}

}  // namespace kiln::models

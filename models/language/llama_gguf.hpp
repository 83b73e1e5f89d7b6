// Reads the config of a Llama from the metadata of a GGUF file.
#pragma once
#include <string>

#include "kiln/store/format/source.hpp"
#include "models/language/llama.hpp"

namespace kiln::models {

/// Throws ConfigError with the file and the key for keys that are missing or not implemented, and for each unknown key
/// below "llama.".
LlamaConfig llama_config_of(const TensorSource& gguf, const std::string& file);

}  // namespace kiln::models

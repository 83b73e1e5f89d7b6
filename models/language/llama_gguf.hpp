// What the metadata of a GGUF file says of a Llama.
#pragma once
#include <string>

#include "kiln/store/format/source.hpp"
#include "models/language/llama.hpp"

namespace kiln::models {

/// Throws ConfigError with the file and the key: for what is missing or not built, and for each key below "llama." that is
/// not known.
LlamaConfig llama_config_of(const TensorSource& gguf, const std::string& file);

}  // namespace kiln::models

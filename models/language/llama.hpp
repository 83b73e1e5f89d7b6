// Llama (Touvron et al., "Llama: open and efficient foundation language models", 2023), and all that is built like it: norms of
// the root mean square, rotary positions, fewer heads of keys and values than of queries, gated feed-forward networks.
#pragma once
#include <optional>
#include <string>

#include "kiln/store/load/options.hpp"
#include "models/language/causal_lm.hpp"

namespace kiln::models {

struct LlamaConfig {
  std::int64_t vocabulary = 32000, context = 2048, width = 4096, heads = 32, kv_heads = 0, layers = 32;
  std::int64_t hidden = 11008;  // of the feed-forward networks
  std::int64_t head_width = 0;  // 0: width / heads
  double epsilon = 1e-5;
  nn::RotaryEncodingConfig rotary = {};     // whose length is `trained`
  bool tied = false;                        // the head is the embedding
  std::optional<std::int64_t> window = {};  // a token sees those less than this far away alone (Mistral)
  std::int64_t trained = 0;  // positions that the model was trained with, which DynamicNtk asks for; 0: the context

  /// Throws ArgumentError for sizes that do not go together.
  CausalLm init(const Device& device) const;
};

/// What config.json, of a Llama or a Mistral, or the metadata of a GGUF file says. Throws ConfigError with the file and the
/// key for what is not built, and for a key that is not known.
LlamaConfig llama_config(const std::string& file);
/// Takes over published weights under Hugging Face's names (`model.layers.0.self_attn.q_proj.weight`) or those of GGUF
/// (`blk.0.attn_q.weight`), whatever their format. GGUF has the rows of queries and keys in another order, in which rotary
/// encoding turns neighbours: the model must have been made with RotaryPairs::Neighbours, as llama_config() of a GGUF says.
/// Throws LoadError for files of another model.
LoadReport load_llama(CausalLm& model, const std::string& file, FloatPolicy floats = FloatPolicy::AsObject);
/// A GGUF file, or a folder with config.json and weights.
CausalLm load_llama(const std::string& path, const Device& device, FloatPolicy floats = FloatPolicy::AsObject);

}  // namespace kiln::models

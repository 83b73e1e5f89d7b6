// Llama (Touvron et al., "Llama: open and efficient foundation language models", 2023) and models of the same
// architecture: RMS norms, rotary positions, fewer heads of keys and values than of queries, gated feed-forward
// networks.
#pragma once
#include <optional>
#include <string>

#include "kiln/store/load/options.hpp"
#include "models/language/causal_lm.hpp"

namespace kiln::models {

struct LlamaConfig {
  std::int64_t vocabulary = 32000, context = 2048, width = 4096, heads = 32, kv_heads = 0, layers = 32;
  std::int64_t hidden = 11008;  // width of the feed-forward networks
  std::int64_t head_width = 0;  // 0: width / heads
  double epsilon = 1e-5;
  nn::RotaryEncodingConfig rotary = {};     // its length is `trained`
  bool tied = false;                        // the head's weight is the embedding
  std::optional<std::int64_t> window = {};  // a token only attends to those less than this far away (Mistral)
  std::int64_t trained = 0;  // number of positions that the model was trained with, for DynamicNtk; 0: the context

  /// Throws ArgumentError for inconsistent sizes.
  CausalLm init(const Device& device) const;
};

/// Reads the config.json of a Llama or a Mistral, or the metadata of a GGUF file. Throws ConfigError with the file and
/// the key for options that are not implemented, and for an unknown key.
LlamaConfig llama_config(const std::string& file);
/// Loads published weights of any format, under Hugging Face's names (`model.layers.0.self_attn.q_proj.weight`) or
/// those of GGUF (`blk.0.attn_q.weight`). GGUF has the rows of queries and keys in another order, in which rotary
/// encoding rotates adjacent elements: the model must have been made with RotaryPairs::Neighbours, which llama_config()
/// of a GGUF file sets. Throws LoadError for files of another model.
LoadReport load_llama(CausalLm& model, const std::string& file, FloatPolicy floats = FloatPolicy::AsObject);
/// Loads a GGUF file, or a folder with config.json and weights.
CausalLm load_llama(const std::string& path, const Device& device, FloatPolicy floats = FloatPolicy::AsObject);

}  // namespace kiln::models

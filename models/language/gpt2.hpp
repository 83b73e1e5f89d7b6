// GPT-2 (Radford et al., "Language models are unsupervised multitask learners", 2019).
#pragma once
#include <string>

#include "kiln/store/load/options.hpp"
#include "models/language/causal_lm.hpp"

namespace kiln::models {

/// The smallest of the published models.
struct Gpt2Config {
  std::int64_t vocabulary = 50257, context = 1024, width = 768, heads = 12, layers = 12;
  std::int64_t hidden = 0;  // of the feed-forward networks; 0: 4 * width
  double dropout = 0.1;     // while it is trained
  double epsilon = 1e-5;
  nn::ActivationConfig activation = nn::Gelu{.approximate = true};
  bool scaled = true;            // scores are divided by the root of the head's width
  bool scaled_by_layer = false;  // and by the number of the layer, from 1 on
  bool tied = true;              // the head is the embedding

  /// Throws ArgumentError for sizes that do not go together.
  CausalLm init(const Device& device) const;
};

/// What the config.json of published models says. Throws ConfigError with the file and the key for what is not built, and for
/// a key that is not known.
Gpt2Config gpt2_config(const std::string& file);
/// Takes over published weights, whatever their format: names as `transformer.h.0.attn.c_attn.weight`, or without the first
/// word, matrices [in, out]. Throws LoadError for files of another model, or of one whose head is not its
/// embedding, unless the model's is not either.
LoadReport load_gpt2(CausalLm& model, const std::string& file);
/// A folder with config.json and one file of weights.
CausalLm load_gpt2(const std::string& folder, const Device& device);

}  // namespace kiln::models

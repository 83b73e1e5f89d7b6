// GPT-2 (Radford et al., "Language models are unsupervised multitask learners", 2019).
#pragma once
#include <string>

#include "kiln/store/load/options.hpp"
#include "models/language/causal_lm.hpp"

namespace kiln::models {

/// The defaults are those of the smallest published model.
struct Gpt2Config {
  std::int64_t vocabulary = 50257, context = 1024, width = 768, heads = 12, layers = 12;
  std::int64_t hidden = 0;  // width of the feed-forward networks; 0: 4 * width
  double dropout = 0.1;     // during training
  double epsilon = 1e-5;
  nn::ActivationConfig activation = nn::Gelu{.approximate = true};
  bool scaled = true;            // divides scores by the root of the head's width
  bool scaled_by_layer = false;  // and by the number of the layer, from 1 on
  bool tied = true;              // the head's weight is the embedding

  /// Throws ArgumentError for inconsistent sizes.
  CausalLm init(const Device& device) const;
};

/// Reads the config.json of published models. Throws ConfigError with the file and the key for options that are not
/// implemented, and for an unknown key.
Gpt2Config gpt2_config(const std::string& file);
/// Loads published weights of any format. Names are `transformer.h.0.attn.c_attn.weight`, with or without the first
/// word, and matrices are [in, out]. Throws LoadError for files of another model, or if the head of the file is not its
/// embedding, unless the model's is not either.
LoadReport load_gpt2(CausalLm& model, const std::string& file);
/// Loads a folder with config.json and one file of weights.
CausalLm load_gpt2(const std::string& folder, const Device& device);

}  // namespace kiln::models

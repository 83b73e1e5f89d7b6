// Rotary encoding as config.json describes it, under the old or new keys.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "kiln/nn/attention/position.hpp"

namespace kiln::models {

/// `rope_parameters` of newer files, or `rope_scaling` of older ones. The kind decides which keys are used.
struct PublishedRope {
  std::optional<std::string> rope_type, type;  // the newer and the older key
  std::optional<double> rope_theta, partial_rotary_factor, factor, attention_factor, beta_fast, beta_slow, mscale,
      mscale_all_dim, low_freq_factor, high_freq_factor;
  std::optional<std::int64_t> original_max_position_embeddings;
  std::optional<std::vector<double>> short_factor, long_factor;
  std::optional<bool> truncate, finetuned;  // `finetuned` only describes how the weights were made
};

/// The keys of config.json about rotary encoding.
struct RopeKeys {
  std::optional<PublishedRope> rope_parameters, rope_scaling;
  std::optional<double> rope_theta, partial_rotary_factor;
  std::optional<std::int64_t> original_max_position_embeddings;
};

struct Rope {
  nn::RotaryEncodingConfig encoding;
  // The longest sequence in tokens, which may exceed the length that a model was trained with.
  std::int64_t context = 0;
};

/// Returns the encoding for heads of a width, and for a model trained with `length` positions. Throws ConfigError with
/// the file and the key for kinds that are not implemented, and if a kind lacks a key.
Rope rope_of(const RopeKeys& said, std::int64_t head_width, std::int64_t length, const std::string& file);

}  // namespace kiln::models

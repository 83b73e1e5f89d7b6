#include "models/published.hpp"

#include <algorithm>

#include "kiln/core/error/shown.hpp"

namespace kiln::models {
namespace {

/// These keys are bookkeeping, token ids, options of training, and defaults of text generation, which Kiln's callers
/// set themselves.
constexpr std::string_view kHarmless[] = {"_attn_implementation",
                                          "_attn_implementation_autoset",
                                          "_commit_hash",
                                          "_flash_attn_2_enabled",
                                          "_name_or_path",
                                          "architectures",
                                          "attn_implementation",
                                          "auto_map",
                                          "begin_suppress_tokens",
                                          "bad_words_ids",
                                          "bos_token_id",
                                          "chunk_size_feed_forward",
                                          "cls_token_id",
                                          "decoder_start_token_id",
                                          "diversity_penalty",
                                          "do_sample",
                                          "dtype",
                                          "early_stopping",
                                          "encoder_no_repeat_ngram_size",
                                          "eos_token_id",
                                          "exponential_decay_length_penalty",
                                          "finetuning_task",
                                          "forced_bos_token_id",
                                          "forced_eos_token_id",
                                          "gradient_checkpointing",
                                          "id2label",
                                          "initializer_range",
                                          "label2id",
                                          "language",
                                          "length_penalty",
                                          "mask_token_id",
                                          "max_length",
                                          "min_length",
                                          "model_type",
                                          "name_or_path",
                                          "no_repeat_ngram_size",
                                          "num_beam_groups",
                                          "num_beams",
                                          "num_labels",
                                          "num_return_sequences",
                                          "output_attentions",
                                          "output_hidden_states",
                                          "output_past",
                                          "output_scores",
                                          "pad_token_id",
                                          "prefix",
                                          "problem_type",
                                          "remove_invalid_values",
                                          "repetition_penalty",
                                          "return_dict",
                                          "return_dict_in_generate",
                                          "sep_token_id",
                                          "suppress_tokens",
                                          "task_specific_params",
                                          "temperature",
                                          "tf_legacy_loss",
                                          "tokenizer_class",
                                          "top_k",
                                          "top_p",
                                          "torch_dtype",
                                          "torchscript",
                                          "transformers_version",
                                          "typical_p",
                                          "unk_token_id",
                                          "unsloth_fixed",
                                          "unsloth_version",
                                          "use_bfloat16",
                                          "use_cache",
                                          "use_return_dict",
                                          "xla_device"};

constexpr UnsupportedKey kRefused[] = {
    {"quantization_config",
     "codes of quantised weights in this layout are not read; take the weights in full, or GGUF"},
    {"is_encoder_decoder", "models of an encoder and a decoder are not supported"},
    {"tie_encoder_decoder", "models of an encoder and a decoder are not supported"},
    {"add_cross_attention", "attention to another sequence is not built into this model"},
    {"cross_attention_hidden_size", "attention to another sequence is not built into this model"},
    {"pruned_heads", "heads that were taken out are not supported; take weights that have all heads"}};

bool is_set(const Json& value) {
  if (std::holds_alternative<std::nullptr_t>(value.is)) return false;
  if (const auto* const flag = std::get_if<bool>(&value.is)) return *flag;
  if (const auto* const list = std::get_if<Json::List>(&value.is)) return !list->empty();
  if (const auto* const object = std::get_if<Json::Object>(&value.is)) return !object->empty();
  return true;
}

void refuse_if_set(const HfConfig& config, const std::string& key, const Json& value, const UnsupportedKey& refused) {
  require<ConfigError>(!is_set(value), config.file, ": '", shown(key), "' is ", describe(value), ", and ", refused.why);
}

}  // namespace

bool HfConfig::has(std::string_view key) const {
  return std::ranges::count(keys, key, &Json::Object::value_type::first);
}

HfConfig open_hf_config(const std::string& file, std::initializer_list<std::string_view> types) {
  Json json = parse_json(read_text_file(file), file);
  auto* const object = std::get_if<Json::Object>(&json.is);
  require<ConfigError>(object, file, ": must be an object, got ", describe(json));
  HfConfig config{.file = file, .keys = std::move(*object), .type = std::string(*types.begin())};
  for (const auto& [key, value] : config.keys) {
    if (key != "model_type") continue;
    const auto* const said = std::get_if<std::string>(&value.is);
    if (said && std::ranges::count(types, *said)) {
      config.type = *said;
      continue;
    }
    std::string all;
    for (const std::string_view type : types) all += text(all.empty() ? "" : " or ", '"', type, '"');
    fail<ConfigError>(file, ": 'model_type' must be ", all, ", got ", describe(value));
  }
  return config;
}

Json known_keys(const HfConfig& config, std::span<const std::string_view> known, const OtherKeys& others) {
  Json::Object kept;
  for (const auto& [key, value] : config.keys) {
    const auto refused = [&](std::span<const UnsupportedKey> list) {
      const auto found = std::ranges::find(list, std::string_view(key), &UnsupportedKey::key);
      if (found == list.end()) return false;
      refuse_if_set(config, key, value, *found);
      return true;
    };
    if (std::ranges::count(known, std::string_view(key))) kept.emplace_back(key, value);
    else
      require<ConfigError>(refused(others.refused) || refused(kRefused) ||
                               std::holds_alternative<std::nullptr_t>(value.is) ||
                               std::ranges::count(others.harmless, std::string_view(key)) ||
                               std::ranges::count(kHarmless, std::string_view(key)),
                           config.file, ": '", shown(key),
                           "' is not known here, and may change what the model computes; take it out of the file if "
                           "it does not");
  }
  return {std::move(kept)};
}

nn::ActivationConfig published_activation(const std::string& file, std::string_view key, const std::string& name) {
  if (name == "gelu" || name == "gelu_python") return nn::Gelu{};
  if (name == "gelu_new" || name == "gelu_fast" || name == "gelu_pytorch_tanh") return nn::Gelu{.approximate = true};
  if (name == "quick_gelu") return nn::QuickGelu{};
  if (name == "relu") return nn::Relu{};
  if (name == "silu" || name == "swish") return nn::Silu{};
  if (name == "tanh") return nn::Tanh{};
  fail<ConfigError>(file, ": '", key,
                    "' must be one of \"gelu\", \"gelu_new\", \"gelu_pytorch_tanh\", \"gelu_fast\", \"quick_gelu\", ",
                    "\"relu\", \"silu\", \"tanh\", got \"", shown(name), '"');
}

}  // namespace kiln::models

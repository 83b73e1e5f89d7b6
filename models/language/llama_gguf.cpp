#include "models/language/llama_gguf.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "kiln/core/error/shown.hpp"

namespace kiln::models {
namespace {

/// Namespaces of keys that describe how a file was made, or what tokens mean.
constexpr std::string_view kElsewhere[] = {"general.", "tokenizer.", "quantize.", "split."};
/// Keys that do not affect the model.
constexpr std::string_view kHarmless[] = {"llama.vocab_size", "llama.rope.scaling.finetuned"};

/// Reads keys below "llama."; keys that nobody has read are an error.
class Keys {
 public:
  Keys(const Metadata& said, const std::string& file) : said_(said), file_(file) {}

  const std::string* text(const std::string& key) {
    const auto entry = said_.find(*asked_.insert("llama." + key).first);
    return entry == said_.end() ? nullptr : &entry->second;
  }
  /// Throws ConfigError if the key is missing and there is no fallback.
  template <class T>
  T number(const std::string& key, std::optional<T> fallback = {}) {
    const std::string* const said = text(key);
    if (!said && fallback) return *fallback;
    require<ConfigError>(said, file_, ": 'llama.", key, "' is missing");
    T result{};
    const auto [end, error] = std::from_chars(said->data(), said->data() + said->size(), result);
    require<ConfigError>(
        error == std::errc() && end == said->data() + said->size() && std::isfinite(static_cast<double>(result)), file_,
        ": 'llama.", key, "' must be a number, got ", shown(*said));
    return result;
  }
  /// Returns a number above zero, or the fallback.
  double positive(const std::string& key, double fallback) {
    const double value = number<double>(key, fallback);
    require<ConfigError>(value > 0, file_, ": 'llama.", key, "' must be positive, got ", value);
    return value;
  }
  /// Throws ConfigError if the key has another value than the only one that is implemented.
  void only(const std::string& key, std::string_view value, std::string_view why) {
    const std::string* const said = text(key);
    require<ConfigError>(!said || *said == value, file_, ": 'llama.", key, "' is ", said ? shown(*said) : "", ", and ",
                         why);
  }
  void require_no_other_keys() const {
    for (const auto& [key, value] : said_) {
      const bool elsewhere =
          std::ranges::any_of(kElsewhere, [&key = key](std::string_view space) { return key.starts_with(space); });
      require<ConfigError>(elsewhere || asked_.contains(key) || std::ranges::count(kHarmless, key), file_, ": '",
                           shown(key),
                           "' is not known here, and may change what the model computes; take it out of the file if it "
                           "does not");
    }
  }

 private:
  const Metadata& said_;
  const std::string& file_;
  std::set<std::string> asked_;
};

/// Reads a tensor of factors of frequencies; returns an empty list if there is none.
std::vector<double> factors_of(const TensorSource& gguf, const std::string& name, std::int64_t count,
                               const std::string& file) {
  const auto tensor = gguf.tensors.find(name);
  if (tensor == gguf.tensors.end()) return {};
  require<ConfigError>(tensor->second.shape == Shape{count}, file, ": '", name, "' is ", tensor->second.shape,
                       ", and must have a number for each of ", count, " pairs that are rotated");
  const TensorData numbers = tensor->second.read().to(DType::F64);
  const std::span<const double> all = numbers.as<double>();
  for (const double factor : all)
    require<ConfigError>(factor > 0 && std::isfinite(factor), file, ": '", name, "' has the factor ", factor,
                         ", which is not positive");
  return {all.begin(), all.end()};
}

nn::RotaryScaling scaling_of(Keys& said, const TensorSource& gguf, std::int64_t pairs, std::int64_t context,
                             const std::string& file) {
  const std::string* const named = said.text("rope.scaling.type");
  const double older = said.positive("rope.scale_linear", 1);
  const double factor = said.positive("rope.scaling.factor", older);
  const std::string kind = named ? *named : "linear";
  const auto original =
      static_cast<std::int64_t>(said.positive("rope.scaling.original_context_length", static_cast<double>(context)));
  const double attention = said.positive("rope.scaling.yarn_attn_factor", said.positive("rope.scaling.attn_factor", 1));
  nn::scaling::Yarn yarn{.factor = factor, .original_length = original};
  yarn.beta_fast = said.positive("rope.scaling.yarn_beta_fast", 32);
  yarn.beta_slow = said.positive("rope.scaling.yarn_beta_slow", 1);
  yarn.attention = attention * (factor > 1 ? 0.1 * std::log(factor) + 1 : 1);
  const double mixed = said.number<double>("rope.scaling.yarn_ext_factor", 1.0);
  const double logarithm = said.number<double>("rope.scaling.yarn_log_multiplier", 0.0);
  require<ConfigError>(
      mixed == 1 && logarithm == 0, file,
      ": 'llama.rope.scaling.yarn_ext_factor' other than 1, and 'yarn_log_multiplier' other than 0, are "
      "not supported");
  require<ConfigError>(attention == 1 || kind == "yarn" || kind == "longrope", file,
                       ": 'llama.rope.scaling.attn_factor' is ", attention, " with a scaling of the kind '",
                       shown(kind), "', where it is not supported");

  std::vector<double> factors = factors_of(gguf, "rope_freqs.weight", pairs, file);
  const std::vector<double> far = factors_of(gguf, "rope_factors_long.weight", pairs, file),
                            near = factors_of(gguf, "rope_factors_short.weight", pairs, file);
  require<ConfigError>(factors.empty() || kind == "none" || kind == "linear", file,
                       ": has both 'rope_freqs.weight' and a scaling of the kind '", shown(kind),
                       "', of which only one is supported");
  require<ConfigError>((!far.empty() && !near.empty()) == (kind == "longrope"), file,
                       ": a scaling of the kind 'longrope' goes with 'rope_factors_long.weight' and "
                       "'rope_factors_short.weight', and no other does");
  if (kind == "longrope") return nn::scaling::LongRope{near, far, original, attention};
  if (kind == "yarn") return yarn;
  require<ConfigError>(kind == "none" || kind == "linear", file,
                       ": 'llama.rope.scaling.type' must be one of none, linear, yarn, longrope, got ", shown(kind));
  const double all = kind == "none" ? 1 : factor;
  for (double& one : factors) one *= all;
  if (!factors.empty()) return nn::scaling::Divided{factors};
  if (all != 1) return nn::scaling::Linear{all};
  return nn::scaling::None{};
}

}  // namespace

LlamaConfig llama_config_of(const TensorSource& gguf, const std::string& file) {
  const auto architecture = gguf.metadata.find("general.architecture");
  require<ConfigError>(architecture != gguf.metadata.end() && architecture->second == "llama", file,
                       ": 'general.architecture' must be \"llama\", got ",
                       architecture == gguf.metadata.end() ? "nothing" : shown(architecture->second));
  const auto table = gguf.tensors.find("token_embd.weight");
  require<ConfigError>(table != gguf.tensors.end() && table->second.shape.size() == 2, file,
                       ": 'token_embd.weight', a matrix, is missing");
  Keys said(gguf.metadata, file);
  LlamaConfig config{.vocabulary = table->second.shape[0],
                     .context = said.number<std::int64_t>("context_length"),
                     .width = said.number<std::int64_t>("embedding_length"),
                     .heads = said.number<std::int64_t>("attention.head_count"),
                     .kv_heads = said.number<std::int64_t>("attention.head_count_kv", 0),
                     .layers = said.number<std::int64_t>("block_count"),
                     .hidden = said.number<std::int64_t>("feed_forward_length"),
                     .head_width = said.number<std::int64_t>("attention.key_length", 0),
                     .epsilon = said.number<double>("attention.layer_norm_rms_epsilon"),
                     .tied = !gguf.tensors.contains("output.weight")};
  require<ConfigError>(config.context > 0 && config.width > 0 && config.heads > 0 && config.head_width >= 0, file,
                       ": 'llama.context_length', 'embedding_length' and 'attention.head_count' must be positive");
  const std::int64_t head = config.head_width ? config.head_width : config.width / config.heads;
  const auto values = said.number<std::int64_t>("attention.value_length", head);
  require<ConfigError>(values == head, file, ": 'llama.attention.value_length' is ", values,
                       ", and must be that of keys, ", head);
  if (const auto window = said.number<std::int64_t>("attention.sliding_window", 0); window != 0) config.window = window;
  said.only("attention.causal", "true", "attention that is not causal is not built into a language model");
  said.only("expert_count", "0", "mixtures of experts are not supported");
  said.only("expert_used_count", "0", "mixtures of experts are not supported");
  said.only("use_parallel_residual", "false", "branches beside each other are not supported into a Llama");
  said.only("tensor_data_layout", "Meta AI original pth", "no other layout is known");
  config.rotary.base = said.number<double>("rope.freq_base", 10000.0);
  config.rotary.pairs = RotaryPairs::Neighbours;
  config.rotary.width = said.number<std::int64_t>("rope.dimension_count", head);
  require<ConfigError>(
      config.rotary.base > 1 && config.rotary.width > 0 && config.rotary.width <= head && config.rotary.width % 2 == 0,
      file, ": 'llama.rope.dimension_count' is ", config.rotary.width, " of heads of ", head,
      ", and 'llama.rope.freq_base' ", config.rotary.base,
      ": an even part of a head must be rotated, by a base above 1");
  config.rotary.scaling = scaling_of(said, gguf, config.rotary.width / 2, config.context, file);
  said.require_no_other_keys();
  return config;
}

}  // namespace kiln::models

// Models of config.json in all its variants against what the package transformers makes of the same weights
// (transformers_figures.py), and each key that is not known or not built.
#include <algorithm>
#include <cmath>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/core/config/config.hpp"
#include "kiln/nn/module.hpp"
#include "kiln/ops/view/assemble.hpp"
#include "models/language/bert.hpp"
#include "models/language/gpt2.hpp"
#include "models/language/llama.hpp"
#include "tests/data/raised.hpp"
#include "tests/models/language/published.hpp"

namespace kiln::models {
namespace {

using test::raised;
using testing::HasSubstr;

struct Variant {
  std::string name;
  Json config, saved;  // as it was said, and as transformers 5 writes it
  std::map<std::string, Shape> weights;
  std::vector<std::int64_t> ids;
  std::vector<float> whole, steps;  // logits, and those of each beginning's last token where they differ; BERT's states
};

const std::vector<Variant>& variants() {
  static const auto kAll = [] {
    const std::string file = KILN_SOURCE_DIR "/tests/models/language/transformers_figures.json";
    const Json json = parse_json(read_text_file(file), file);
    std::vector<Variant> all;
    for (const Json& row : std::get<Json::List>(json.is)) {
      const auto& object = std::get<Json::Object>(row.is);
      const auto field = [&](std::string_view name, auto& value) {
        const auto found = std::ranges::find(object, name, &Json::Object::value_type::first);
        if constexpr (std::is_same_v<std::remove_cvref_t<decltype(value)>, Json>) value = found->second;
        else value = from_json<std::remove_cvref_t<decltype(value)>>(found->second, file);
      };
      Variant& one = all.emplace_back();
      field("name", one.name), field("config", one.config), field("saved", one.saved);
      field("weights", one.weights), field("ids", one.ids), field("whole", one.whole), field("steps", one.steps);
    }
    return all;
  }();
  return kAll;
}

double worst_of(const CausalLm& given, const Variant& variant) {
  const CausalLm model = valid(given);
  const Tensor<2, Int> ids = batch_of(variant.ids, 1);
  double worst = worst_difference(model.forward(ids).to_vector(), variant.whole);
  for (const std::int64_t first : {1, 3}) {
    nn::TransformerCache cache = model.cache(1, ids.dim(1));
    std::vector<float> found;
    for (std::int64_t at = 0, count = first; at < ids.dim(1); at += count, count = 1)
      for (const float logit : model.forward(ids.narrow(1, at, count), cache).to_vector()) found.push_back(logit);
    worst = std::max(worst, worst_difference(found, variant.steps.empty() ? variant.whole : variant.steps));
  }
  return worst;
}

double worst_of_bert(const Bert& given, const Variant& variant) {
  const Bert model = valid(given);
  const Tensor<2, Int> ids = batch_of(variant.ids, 1);
  std::vector<std::int64_t> segments(variant.ids.size(), 0);
  std::fill(segments.begin() + std::ssize(segments) / 2, segments.end(), 1);
  const Tensor<3> hidden = model.forward(ids, {.segments = batch_of(segments, 1)});
  return std::max(worst_difference(hidden.to_vector(), variant.whole),
                  worst_difference(model.pooled(hidden).to_vector(), variant.steps));
}

TEST(Transformers, OfEachConfigIsThePackages) {
  ASSERT_GE(variants().size(), 25u);
  for (const Variant& variant : variants())
    for (const Json* const config : {&variant.config, &variant.saved}) {
      SCOPED_TRACE(variant.name + (config == &variant.saved ? ", as it is saved" : ", as it was said"));
      const PublishedModel files(write_json(*config), weights_of(variant.weights));
      const Device cpu = Device::cpu();
      const double worst = variant.name.starts_with("bert")   ? worst_of_bert(load_bert(files.folder, cpu), variant)
                           : variant.name.starts_with("gpt2") ? worst_of(load_gpt2(files.folder, cpu), variant)
                                                              : worst_of(load_llama(files.folder, cpu), variant);
      EXPECT_LT(worst, 1e-5);
    }
}

/// As llama.cpp writes them: other names, and rows of queries and keys in the order of neighbours, as far as they are turned.
TensorSource as_gguf(const Variant& variant, std::int64_t turned) {
  const std::vector<Rename> names = {{"^model\\.embed_tokens", "token_embd"},
                                     {"^model\\.norm", "output_norm"},
                                     {"^lm_head", "output"},
                                     {"^model\\.layers", "blk"},
                                     {"self_attn\\.([qkv])_proj", "attn_$1"},
                                     {"self_attn\\.o_proj", "attn_output"},
                                     {"mlp\\.(gate|up|down)_proj", "ffn_$1"},
                                     {"input_layernorm", "attn_norm"},
                                     {"post_attention_layernorm", "ffn_norm"}};
  TensorSource source = renamed(weights_of(variant.weights), names);
  for (auto& [name, tensor] : source.tensors) {
    if (name.find("attn_q") == std::string::npos && name.find("attn_k") == std::string::npos) continue;
    const Tensor<2> x = Tensor<2>::from_data(tensor.read(), Device::cpu());
    const Tensor<3> heads = x.reshape(x.dim(0) / 12, 12, x.dim(1));
    const Tensor<3> part = heads.narrow(1, 0, turned)
                               .reshape(heads.dim(0), 2, turned / 2, x.dim(1))
                               .permute(0, 2, 1, 3)
                               .reshape(heads.dim(0), turned, x.dim(1));
    const Tensor<3> all =
        turned == 12 ? part
                     : Tensor<3>(kiln::cat(Values{part.value(), heads.narrow(1, turned, 12 - turned).value()}, 1));
    tensor = stored(all.reshape(x.dim(0), x.dim(1)).data());
  }
  source.metadata = {{"general.architecture", "llama"},
                     {"general.name", "a model"},
                     {"tokenizer.ggml.model", "gpt2"},
                     {"llama.context_length", "16"},
                     {"llama.embedding_length", "24"},
                     {"llama.block_count", "2"},
                     {"llama.feed_forward_length", "20"},
                     {"llama.vocab_size", "17"},
                     {"llama.attention.head_count", "2"},
                     {"llama.attention.head_count_kv", "1"},
                     {"llama.attention.layer_norm_rms_epsilon", "1e-06"},
                     {"llama.rope.dimension_count", std::to_string(turned)},
                     {"llama.rope.freq_base", "100.0"}};
  return source;
}

const Variant& variant_of(std::string_view name) { return *std::ranges::find(variants(), name, &Variant::name); }

/// f_i / speed_i of Llama 3's scaling by its paper's formula, of base 100, heads of 12, factors 4, 1, 4 and length 4.
std::vector<float> llama3_factors() {
  std::vector<float> factors;
  for (int i = 0; i < 6; ++i) {
    const double speed = std::pow(100.0, -2 * i / 12.0), wave = 2 * M_PI / speed;
    const double kept = (4 / wave - 1) / (4 - 1);
    const double scaled = wave > 4 ? speed / 4 : wave < 1 ? speed : (1 - kept) * speed / 4 + kept * speed;
    factors.push_back(static_cast<float>(speed / scaled));
  }
  return factors;
}

double worst_of_gguf(std::string_view name, const Metadata& more, std::int64_t turned = 12,
                     const std::map<std::string, std::vector<float>>& tensors = {}) {
  TensorSource source = as_gguf(variant_of(name), turned);
  for (const auto& [key, value] : more) source.metadata[key] = value;
  for (const auto& [tensor, numbers] : tensors)
    source.tensors.emplace(tensor, stored(TensorData::of<float>({std::ssize(numbers)}, numbers)));
  const TemporaryFile file("model.gguf");
  write_tensors(source, file.path);
  return worst_of(load_llama(file.path, Device::cpu()), variant_of(name));
}

TEST(Transformers, OfGgufsMetadataIsThePackages) {
  const std::string scaling = "llama.rope.scaling.";
  EXPECT_LT(worst_of_gguf("llama_theta", {}), 1e-5);
  EXPECT_LT(worst_of_gguf("llama_linear", {{scaling + "type", "linear"}, {scaling + "factor", "4"}}), 1e-5);
  EXPECT_LT(worst_of_gguf("llama_linear", {{"llama.rope.scale_linear", "4"}}), 1e-5);
  const Metadata yarn = {{scaling + "type", "yarn"},
                         {scaling + "factor", "4"},
                         {scaling + "original_context_length", "4"},
                         {scaling + "finetuned", "true"}};
  EXPECT_LT(worst_of_gguf("llama_yarn", yarn), 1e-5);
  EXPECT_LT(worst_of_gguf("llama_partial", {}, 6), 1e-5);
  EXPECT_LT(worst_of_gguf("llama_partial_yarn", yarn, 6), 1e-5);
  EXPECT_LT(worst_of_gguf("llama_llama3", {}, 12, {{"rope_freqs.weight", llama3_factors()}}), 1e-5);
  EXPECT_LT(
      worst_of_gguf("mistral_window", {{"llama.attention.sliding_window", "4"}, {"llama.rope.freq_base", "10000"}}),
      1e-5);
  const std::string attention = std::to_string(std::sqrt(1 + std::log(4.0) / std::log(4.0)));
  EXPECT_LT(worst_of_gguf("llama_longrope",
                          {{"llama.block_count", "1"},
                           {scaling + "type", "longrope"},
                           {scaling + "factor", "4"},
                           {scaling + "original_context_length", "4"},
                           {scaling + "attn_factor", attention}},
                          12,
                          {{"rope_factors_short.weight", {1, 1.1f, 1.2f, 1.3f, 1.4f, 1.5f}},
                           {"rope_factors_long.weight", {1, 1.5f, 2, 3, 4, 6}}}),
            1e-5);
}

template <class Read>
std::string refusal(std::string_view config, Read read) {
  const TemporaryFile file("config.json");
  write_text(file.path, config);
  return raised<ConfigError>([&] { read(file.path); });
}

TEST(Published, RefusesEachKeyThatIsNotKnown) {
  // Each config with one more key that nobody knows, and with each of its keys spelt wrongly.
  for (const Variant& variant : variants()) {
    const auto read = [&](const std::string& file) {
      if (variant.name.starts_with("bert")) bert_config(file);
      else if (variant.name.starts_with("gpt2")) gpt2_config(file);
      else llama_config(file);
    };
    const auto& said = std::get<Json::Object>(variant.saved.is);
    Json::Object more = said;
    more.emplace_back("sharpness", Json{1.5});
    EXPECT_THAT(refusal(write_json({more}), read), HasSubstr("'sharpness' is not known here")) << variant.name;
    for (std::size_t i = 0; i < said.size(); ++i) {
      if (std::holds_alternative<std::nullptr_t>(said[i].second.is)) continue;
      Json::Object wrong = said;
      wrong[i].first += "_";
      EXPECT_THAT(refusal(write_json({wrong}), read), HasSubstr(said[i].first + "_' is not known here"))
          << variant.name;
    }
  }
}

TEST(Published, RefusesWhatIsNotBuiltAndSaysWhy) {
  EXPECT_THAT(refusal(R"({"model_type": "bert", "is_decoder": true})", bert_config),
              HasSubstr("'is_decoder' is true, and a BERT that sees only what came before is not built"));
  EXPECT_THAT(refusal(R"({"position_embedding_type": "relative_key"})", bert_config),
              HasSubstr("must be \"absolute\""));
  for (const auto read :
       {+[](const std::string& file) { bert_config(file); }, +[](const std::string& file) { gpt2_config(file); },
        +[](const std::string& file) { llama_config(file); }}) {
    EXPECT_THAT(refusal(R"({"quantization_config": {"quant_method": "gptq", "bits": 4}})", read),
                HasSubstr("'quantization_config' is an object, and codes of quantised weights in this layout are not "
                          "read; take the weights in full, or GGUF"));
    EXPECT_THAT(refusal(R"({"add_cross_attention": true})", read), HasSubstr("attention to another sequence"));
    EXPECT_THAT(refusal(R"({"pruned_heads": {"0": [1]}})", read), HasSubstr("heads that were taken out"));
    EXPECT_THAT(refusal(R"({"model_type": "t5"})", read), HasSubstr("got \"t5\""));
  }
  EXPECT_THAT(refusal(R"({"sliding_window": 4096})", llama_config),
              HasSubstr("a Llama's weights were trained without"));
  EXPECT_THAT(refusal(R"({"num_local_experts": 8})", llama_config), HasSubstr("'num_local_experts' is not known here"));
  EXPECT_THAT(refusal(R"({"activation_function": "maxout"})", gpt2_config), HasSubstr("'activation_function' must be"));
  EXPECT_THAT(refusal(R"({"hidden_act": "gelu"})", llama_config), HasSubstr("\"silu\""));

  const auto rope = [](std::string_view inner) {
    return refusal(text(R"({"hidden_size": 24, "num_attention_heads": 2, "rope_parameters": )", inner, "}"),
                   llama_config);
  };
  EXPECT_THAT(rope(R"({"rope_type": "mrope"})"), HasSubstr("'rope_parameters.rope_type' must be one of"));
  EXPECT_THAT(rope(R"({"rope_type": "linear"})"), HasSubstr("'rope_parameters.factor' is missing"));
  EXPECT_THAT(rope(R"({"rope_type": "linear", "factor": 0})"), HasSubstr("'rope_parameters.factor' must be positive"));
  EXPECT_THAT(rope(R"({"rope_type": "llama3", "factor": 8})"),
              HasSubstr("'rope_parameters.low_freq_factor' is missing"));
  EXPECT_THAT(rope(R"({"mrope_section": [1, 2]})"), HasSubstr("mrope_section"));
  EXPECT_THAT(rope(R"({"full_attention": {"rope_theta": 1e6}})"), HasSubstr("full_attention"));
  EXPECT_THAT(rope(R"({"rope_theta": 0.5})"), HasSubstr("'rope_theta' must be above 1"));
  EXPECT_THAT(rope(R"({"partial_rotary_factor": 0.1})"), HasSubstr("'partial_rotary_factor' is 0.1"));
  EXPECT_THAT(rope(R"({"rope_type": "longrope", "short_factor": [1], "long_factor": [1, 2, 3, 4, 5, 6]})"),
              HasSubstr("'rope_parameters.short_factor' has 1 numbers, and 6 pairs"));
  EXPECT_THAT(rope(R"({}, "rope_scaling": {"type": "linear", "factor": 2})"), HasSubstr("says both"));
}

TEST(Published, RefusesMetadataOfGgufThatIsNotKnownOrNotBuilt) {
  const auto refused = [](const std::string& key, const std::string& value) {
    TensorSource source = as_gguf(variant_of("llama_theta"), 12);
    source.metadata[key] = value;
    const TemporaryFile file("model.gguf");
    write_tensors(source, file.path);
    return raised<ConfigError>([&] { llama_config(file.path); });
  };
  EXPECT_THAT(refused("llama.logit_scale", "2"), HasSubstr("'llama.logit_scale' is not known here"));
  EXPECT_THAT(refused("clip.vision", "2"), HasSubstr("'clip.vision' is not known here"));
  EXPECT_THAT(refused("llama.expert_count", "8"), HasSubstr("'llama.expert_count' is 8, and mixtures of experts"));
  EXPECT_THAT(refused("llama.attention.causal", "false"), HasSubstr("not causal"));
  EXPECT_THAT(refused("llama.attention.value_length", "6"), HasSubstr("must be that of keys, 12"));
  EXPECT_THAT(refused("llama.rope.scaling.type", "su"),
              HasSubstr("must be one of none, linear, yarn, longrope, got su"));
  EXPECT_THAT(refused("llama.rope.scaling.type", "longrope"), HasSubstr("'rope_factors_long.weight'"));
  EXPECT_THAT(refused("llama.rope.scaling.factor", "-1"), HasSubstr("must be positive, got -1"));
  EXPECT_THAT(refused("llama.rope.scaling.factor", "nan"), HasSubstr("must be a number, got nan"));
  EXPECT_THAT(refused("llama.rope.scaling.attn_factor", "2"), HasSubstr("where it is not supported"));
  EXPECT_THAT(refused("llama.rope.scaling.yarn_ext_factor", "0.5"), HasSubstr("not supported"));
  EXPECT_THAT(refused("llama.rope.dimension_count", "14"), HasSubstr("is 14 of heads of 12"));
}

}  // namespace
}  // namespace kiln::models

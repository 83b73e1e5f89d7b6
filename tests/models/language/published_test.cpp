// GPT-2 and Llama of published files against PyTorch's figures, and what they say of wrong files.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/nn/module.hpp"
#include "models/language/gpt2.hpp"
#include "models/language/llama.hpp"
#include "tests/data/raised.hpp"
#include "tests/models/language/published.hpp"

namespace kiln::models {
namespace {

using test::raised;
using testing::HasSubstr;

/// All at once, and some at first and then one by one.
void expect_logits(const CausalLm& model, const std::vector<std::int64_t>& ids, const std::vector<float>& expected) {
  const Tensor<2, Int> tokens = batch_of(ids, 2);
  EXPECT_LT(worst_difference(model.forward(tokens).to_vector(), expected), 1e-5);
  const std::int64_t time = tokens.dim(1), vocabulary = model.head.weight.dim(0);
  for (const std::int64_t first : {std::int64_t{1}, std::int64_t{3}, time}) {
    nn::TransformerCache cache = model.cache(2, model.context);
    for (std::int64_t at = 0, count = first; at < time; at += count, count = 1) {
      const auto logits = model.forward(tokens.narrow(1, at, count), cache).to_vector();
      for (std::int64_t row = 0; row < 2; ++row) {
        const auto from = [&](const std::vector<float>& all, std::int64_t moment, std::int64_t moments) {
          const auto begin = all.begin() + (row * moments + moment) * vocabulary;
          return std::vector<float>(begin, begin + vocabulary);
        };
        EXPECT_LT(worst_difference(from(logits, count - 1, count), from(expected, at + count - 1, time)), 1e-5)
            << first << " at first, moment " << at;
      }
    }
  }
}

TEST(Gpt2, OfPublishedWeightsIsPyTorchs) {
  const PublishedModel files = gpt2_files();
  expect_logits(valid(load_gpt2(files.folder, Device::cpu())), language_figures().gpt2.ids,
                language_figures().gpt2.logits);
}

TEST(Llama, OfPublishedWeightsIsPyTorchs) {
  const PublishedModel files = llama_files();
  expect_logits(load_llama(files.folder, Device::cpu()), language_figures().llama.ids, language_figures().llama.logits);
}

/// As llama.cpp writes them: other names, and rows of queries and keys in the order of neighbours.
TensorSource as_gguf(const TensorSource& theirs) {
  const std::vector<Rename> names = {{"^model\\.embed_tokens", "token_embd"},
                                     {"^model\\.norm", "output_norm"},
                                     {"^lm_head", "output"},
                                     {"^model\\.layers", "blk"},
                                     {"self_attn\\.([qkv])_proj", "attn_$1"},
                                     {"self_attn\\.o_proj", "attn_output"},
                                     {"mlp\\.(gate|up|down)_proj", "ffn_$1"},
                                     {"input_layernorm", "attn_norm"},
                                     {"post_attention_layernorm", "ffn_norm"}};
  TensorSource source = renamed(theirs, names);
  for (auto& [name, tensor] : source.tensors) {
    const std::int64_t heads = name.find("attn_q") != std::string::npos   ? 4
                               : name.find("attn_k") != std::string::npos ? 2
                                                                          : 0;
    if (heads == 0) continue;
    const Tensor<2> x = Tensor<2>::from_data(tensor.read(), Device::cpu());
    const std::int64_t rows = x.dim(0), width = x.dim(1);
    tensor = stored(x.reshape(heads, 2, rows / heads / 2, width).permute(0, 2, 1, 3).reshape(rows, width).data());
  }
  source.metadata = {{"general.architecture", "llama"},      {"llama.context_length", "16"},
                     {"llama.embedding_length", "24"},       {"llama.block_count", "2"},
                     {"llama.feed_forward_length", "20"},    {"llama.attention.head_count", "4"},
                     {"llama.attention.head_count_kv", "2"}, {"llama.attention.layer_norm_rms_epsilon", "1e-06"},
                     {"llama.rope.freq_base", "500.0"}};
  return source;
}

TEST(Llama, OfGgufIsThatOfSafetensors) {
  const TemporaryFile file("model.gguf");
  write_tensors(as_gguf(weights_of(language_figures().llama.weights)), file.path);
  expect_logits(load_llama(file.path, Device::cpu()), language_figures().llama.ids, language_figures().llama.logits);
}

TEST(Llama, RefusesRowsInTheOrderOfAnotherFormat) {
  const PublishedModel files = llama_files();
  const TemporaryFile gguf("model.gguf");
  write_tensors(as_gguf(weights_of(language_figures().llama.weights)), gguf.path);
  CausalLm halves = llama_config(files.config_file.path).init(Device::cpu());
  EXPECT_THAT(raised<LoadError>([&] { load_llama(halves, gguf.path); }), HasSubstr("in the order of neighbours"));
  CausalLm neighbours = llama_config(gguf.path).init(Device::cpu());
  EXPECT_THAT(raised<LoadError>([&] { load_llama(neighbours, files.weights_file); }), HasSubstr("only GGUF"));
}

TEST(Llama, KeepsHalvesOfAFileWhereAskedTo) {
  const PublishedModel files(language_figures().llama.config.text,
                             with_floats(weights_of(language_figures().llama.weights), DType::BF16));
  const CausalLm model = load_llama(files.folder, Device::cpu(), FloatPolicy::AsFile);
  EXPECT_EQ(model.tokens.weight.dtype(), DType::BF16);
  nn::TransformerCache cache = model.cache(2, 16);
  const auto logits = model.next(batch_of(language_figures().llama.ids, 2), cache).to(DType::F32).to_vector();
  const std::vector<float> expected(language_figures().llama.logits.begin() + 7 * 17,
                                    language_figures().llama.logits.begin() + 8 * 17);
  EXPECT_LT(worst_difference({logits.begin(), logits.begin() + 17}, expected), 0.1);  // rounded after each operation
}

TEST(Published, RefusesOtherModels) {
  const PublishedModel gpt2 = gpt2_files(), llama = llama_files();
  EXPECT_THAT(raised<ConfigError>([&] { load_gpt2(llama.folder, Device::cpu()); }),
              HasSubstr("'model_type' must be \"gpt2\", got \"llama\""));
  CausalLm model = gpt2_config(gpt2.config_file.path).init(Device::cpu());
  const auto before = model.tokens.weight.to_vector();
  EXPECT_THAT(raised<LoadError>([&] { load_gpt2(model, llama.weights_file); }),
              HasSubstr("'tokens.weight' is missing"));
  EXPECT_EQ(model.tokens.weight.to_vector(), before);
  EXPECT_THAT(raised<ConfigError>([&] { llama_config(gpt2.weights_file); }), HasSubstr("only GGUF files"));

  TensorSource untied = weights_of(language_figures().gpt2.weights);
  untied.tensors.emplace("lm_head.weight", stored(TensorData(Shape{19, 12}, DType::F32)));
  const PublishedModel other(language_figures().gpt2.config.text, untied);
  EXPECT_THAT(raised<LoadError>([&] { load_gpt2(other.folder, Device::cpu()); }),
              HasSubstr("'lm_head.weight' is not 'transformer.wte.weight'"));
}

TEST(Published, NamesTheKeyThatIsWrong) {
  const auto refusal = [](std::string_view config, auto read) {
    const TemporaryFile file("config.json");
    write_text(file.path, config);
    return raised<ConfigError>([&] { read(file.path); });
  };
  EXPECT_THAT(refusal(R"({"n_embd": "wide"})", gpt2_config), HasSubstr("'n_embd' must be an integer, got \"wide\""));
  EXPECT_THAT(refusal(R"({"n_inner": 0})", gpt2_config), HasSubstr("'n_inner' must be positive"));
  EXPECT_THAT(refusal(R"([1])", gpt2_config), HasSubstr("must be an object"));
  EXPECT_THAT(refusal(R"({"rope_scaling": {"rope_type": "ntk"}})", llama_config), HasSubstr("got \"ntk\""));
  EXPECT_THAT(refusal(R"({"attention_bias": true})", llama_config), HasSubstr("no biases"));
  const TemporaryFile zero("config.json");
  write_text(zero.path, R"({"n_layer": 0})");
  EXPECT_THAT(raised<ArgumentError>([&] { gpt2_config(zero.path).init(Device::cpu()); }), HasSubstr("positive"));

  TensorSource gguf = as_gguf(weights_of(language_figures().llama.weights));
  const auto gguf_refusal = [&](const std::string& key, const std::string& value) {
    TensorSource wrong = gguf;
    wrong.metadata[key] = value;
    if (value.empty()) wrong.metadata.erase(key);
    const TemporaryFile file("model.gguf");
    write_tensors(wrong, file.path);
    return raised<ConfigError>([&] { llama_config(file.path); });
  };
  EXPECT_THAT(gguf_refusal("general.architecture", "bert"), HasSubstr("must be \"llama\", got bert"));
  EXPECT_THAT(gguf_refusal("llama.block_count", "many"), HasSubstr("'llama.block_count' must be a number, got many"));
  EXPECT_THAT(gguf_refusal("llama.context_length", ""), HasSubstr("'llama.context_length' is missing"));
}

}  // namespace
}  // namespace kiln::models

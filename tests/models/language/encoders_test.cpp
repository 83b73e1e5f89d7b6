// RoBERTa, ALBERT and the embeddings of sentences against transformers' figures (encoder_figures.py).
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/nn/module.hpp"
#include "models/language/albert.hpp"
#include "tests/data/raised.hpp"
#include "tests/models/language/published.hpp"

namespace kiln::models {
namespace {

using test::raised;
using testing::HasSubstr;

struct EncoderFigures {
  std::string made_with;
  PublishedBert roberta, albert;
};

const EncoderFigures& figures() {
  static const auto stored_figures =
      load_config<EncoderFigures>(KILN_SOURCE_DIR "/tests/models/language/encoder_figures.json");
  return stored_figures;
}

BertOptions options_of(const PublishedBert& right) {
  return {.segments = batch_of(right.segments, 2), .padding = batch_of(right.there, 2).to_bool()};
}

/// States of padding mean nothing.
template <class Model>
void expect_outputs(const Model& trained, const PublishedBert& right) {
  const Model model = valid(trained);
  const Tensor<3> hidden = model.forward(batch_of(right.ids, 2), options_of(right));
  const std::vector<float> found = hidden.to_vector();
  ASSERT_EQ(found.size(), right.hidden.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (!right.there[i / 12]) continue;
    EXPECT_NEAR(found[i], right.hidden[i], 1e-5 * (1 + std::abs(right.hidden[i]))) << i;
  }
  if (!right.there[0]) return;  // the pooler reads the first token
  EXPECT_LT(worst_difference(model.pooled(hidden).to_vector(), right.pooled), 1e-5);
}

TEST(Encoders, RobertaIsTransformers) {
  const PublishedBert& right = figures().roberta;
  const PublishedModel files(right.config.text, weights_of(right.weights));
  const Bert model = load_bert(files.folder, Device::cpu());
  EXPECT_EQ(model.first_position, 2);
  expect_outputs(model, right);
  const TensorSource around = renamed(weights_of(right.weights), std::vector<Rename>{{"^", "roberta."}});
  const PublishedModel whole(right.config.text, around);
  expect_outputs(load_bert(whole.folder, Device::cpu()), right);
}

TEST(Encoders, AlbertIsTransformers) {
  const PublishedBert& right = figures().albert;
  const PublishedModel files(right.config.text, weights_of(right.weights));
  expect_outputs(load_albert(files.folder, Device::cpu()), right);
}

TEST(Encoders, SentencesAreMeansOfTheirTokens) {
  const PublishedBert& right = figures().roberta;
  const PublishedModel files(right.config.text, weights_of(right.weights));
  const Bert model = valid(load_bert(files.folder, Device::cpu()));
  const std::vector<float> found = embed_sentences(model, batch_of(right.ids, 2), options_of(right)).to_vector();
  ASSERT_EQ(found.size(), 24u);
  for (std::size_t row = 0; row < 2; ++row) {
    double sums[12] = {}, length = 0;
    for (std::size_t time = 0; time < 6; ++time)
      for (std::size_t i = 0; i < 12; ++i)
        if (right.there[row * 6 + time]) sums[i] += right.hidden[(row * 6 + time) * 12 + i];
    for (const double sum : sums) length += sum * sum;
    for (std::size_t i = 0; i < 12; ++i) EXPECT_NEAR(found[row * 12 + i], sums[i] / std::sqrt(length), 1e-5);
  }
  // A sentence alone, without padding, is the same.
  const std::vector<std::int64_t> alone(right.ids.begin() + 2, right.ids.begin() + 6);
  const std::vector<float> same = embed_sentences(model, batch_of(alone, 1)).to_vector();
  for (std::size_t i = 0; i < 12; ++i) EXPECT_NEAR(same[i], found[i], 1e-5);
}

TEST(Encoders, SayWhatDoesNotFit) {
  const PublishedBert& right = figures().roberta;
  const PublishedModel files(right.config.text, weights_of(right.weights));
  const Bert model = valid(load_bert(files.folder, Device::cpu()));
  EXPECT_EQ(raised<ArgumentError>([&] { model.forward(Tensor<2, Int>::zeros({1, 11}, Device::cpu())); }),
            "Bert: 11 tokens do not fit the model's context of 10");
  EXPECT_EQ(raised<ShapeError>([&] {
              model.forward(Tensor<2, Int>::zeros({1, 6}, Device::cpu()), {.padding = options_of(right).padding});
            }),
            "Bert: padding [2, 6] must be as many as tokens, [1, 6]");
  const TemporaryFile config("config.json");
  const auto said = [&](const char* text, auto read) {
    write_text(config.path, text);
    return raised<ConfigError>([&] { read(config.path); });
  };
  EXPECT_THAT(said(R"({"model_type": "roberta", "pad_token_id": -1})", bert_config),
              HasSubstr("'pad_token_id' must not be below 0, got -1"));
  EXPECT_THAT(said(R"({"model_type": "roberta", "max_position_embeddings": 2})", bert_config),
              HasSubstr("which leaves no position behind the first 2"));
  EXPECT_THAT(said(R"({"model_type": "albert", "num_hidden_groups": 2})", albert_config),
              HasSubstr("must be 1, got 2 and 1"));
  EXPECT_THAT(said(R"({"model_type": "bert"})", albert_config), HasSubstr("got \"bert\""));
}

}  // namespace
}  // namespace kiln::models

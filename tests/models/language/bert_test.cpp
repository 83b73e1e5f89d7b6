// BERT against PyTorch's figures, and what it says of wrong files and calls.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kiln/nn/module.hpp"
#include "models/language/bert.hpp"
#include "tests/data/raised.hpp"
#include "tests/models/language/published.hpp"

namespace kiln::models {
namespace {

using test::raised;
using testing::HasSubstr;

Tensor<2, Int> two_rows(const std::vector<std::int64_t>& ids) {
  return Tensor<2, Int>::of(ids, {2, static_cast<std::int64_t>(ids.size()) / 2}, Device::cpu());
}
const PublishedBert& stored_bert() { return language_figures().bert; }
BertOptions options() {
  return {.segments = two_rows(stored_bert().segments), .padding = two_rows(stored_bert().there).to_bool()};
}

/// What there is is PyTorch's; the rest means nothing.
void expect_outputs(const Bert& trained) {
  const Bert model = valid(trained);
  const Tensor<3> hidden = model.forward(two_rows(stored_bert().ids), options());
  const std::vector<float> found = hidden.to_vector();
  for (std::size_t moment = 0; moment < stored_bert().there.size(); ++moment) {
    if (!stored_bert().there[moment]) continue;
    const auto of = [&](const std::vector<float>& all) {
      return std::vector<float>(all.data() + moment * 12, all.data() + moment * 12 + 12);
    };
    EXPECT_LT(worst_difference(of(found), of(stored_bert().hidden)), 1e-5) << moment;
  }
  EXPECT_LT(worst_difference(model.pooled(hidden).to_vector(), stored_bert().pooled), 1e-5);
}

TEST(Bert, OfPublishedWeightsIsPyTorchs) {
  const PublishedModel files(stored_bert().config.text, weights_of(stored_bert().weights));
  expect_outputs(load_bert(files.folder, Device::cpu()));
}

TEST(Bert, TakesOlderNamesAndModelsAroundIt) {
  const std::vector<Rename> older = {
      {"LayerNorm\\.weight", "LayerNorm.gamma"}, {"LayerNorm\\.bias", "LayerNorm.beta"}, {"^", "bert."}};
  TensorSource weights = renamed(weights_of(stored_bert().weights), older);
  weights.tensors.emplace("cls.predictions.bias", stored(TensorData(Shape{23}, DType::F32)));
  weights.tensors.emplace("bert.embeddings.position_ids", stored(TensorData(Shape{1, 10}, DType::I64)));
  expect_outputs(
      load_bert(PublishedModel(stored_bert().config.text, weights, "pytorch_model.bin").folder, Device::cpu()));
}

TEST(Bert, HasNoPoolerWhereTheFileHasNone) {
  const auto no_pooler = [](const std::string& name) { return !name.starts_with("pooler."); };
  const PublishedModel files(stored_bert().config.text, filtered(weights_of(stored_bert().weights), no_pooler));
  const Bert model = valid(load_bert(files.folder, Device::cpu()));
  const Tensor<3> hidden = model.forward(two_rows(stored_bert().ids));
  EXPECT_EQ(raised<ArgumentError>([&] { model.pooled(hidden); }), "Bert: this model has no pooler");
}

TEST(Bert, SaysWhatDoesNotFit) {
  const PublishedModel files(stored_bert().config.text, weights_of(stored_bert().weights));
  const Bert model = valid(load_bert(files.folder, Device::cpu()));
  EXPECT_EQ(raised<ArgumentError>([&] { model.forward(Tensor<2, Int>::zeros({1, 11}, Device::cpu())); }),
            "Bert: 11 tokens do not fit the model's context of 10");
  EXPECT_THAT(raised<IndexError>([&] { model.forward(two_rows({0, 23})).to_vector(); }), HasSubstr("23"));
  EXPECT_THAT(raised<IndexError>([&] { model.forward(two_rows({0, 1}), {.segments = two_rows({0, 2})}).to_vector(); }),
              HasSubstr("2"));
  EXPECT_EQ(raised<ShapeError>([&] { model.forward(two_rows({0, 1}), options()); }),
            "Bert: segments [2, 6] must be as many as tokens, [2, 1]");

  const PublishedModel other(language_figures().gpt2.config.text, weights_of(language_figures().gpt2.weights));
  EXPECT_THAT(raised<ConfigError>([&] { load_bert(other.folder, Device::cpu()); }), HasSubstr("got \"gpt2\""));
  Bert fresh = bert_config(files.config_file.path).init(Device::cpu());
  EXPECT_THAT(raised<LoadError>([&] { load_bert(fresh, other.weights_file); }),
              HasSubstr("'tokens.weight' is missing"));
  const TemporaryFile config("config.json");
  write_text(config.path, R"({"hidden_act": "maxout"})");
  EXPECT_THAT(raised<ConfigError>([&] { bert_config(config.path); }), HasSubstr("got \"maxout\""));
}

}  // namespace
}  // namespace kiln::models

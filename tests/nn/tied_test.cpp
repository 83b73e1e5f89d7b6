// One parameter in several places of a model is one parameter: counted, trained, saved and moved once, and still in all
// of these places afterwards.
#include <gtest/gtest.h>

#include "kiln/kiln.hpp"

#include "tests/support/devices.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

using test::autodiff, test::cpu;

struct Tied {
  nn::Embedding embedding;
  nn::Linear output;

  Tensor<2> forward(const Tensor<1, Int>& words) const { return output.forward(embedding.forward(words)); }
};

Tied tied(const Device& on, bool tie = true) {
  Tied model{nn::EmbeddingConfig{.count = 5, .size = 3}.init(on), nn::LinearConfig{.in = 3, .out = 5}.init(on)};
  if (tie) model.output.weight = model.embedding.weight;
  return model;
}

bool is_tied(const Tied& model) {
  return model.output.weight.identity() == model.embedding.weight.identity() &&
         model.output.weight.value().node() == model.embedding.weight.value().node();
}

std::vector<std::string> names_of(const Tied& model) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : record_of(model).tensors) names.push_back(name);
  return names;
}

TEST(TiedParameters, AreCountedOnce) {
  for (const Device& on : {cpu, autodiff}) {
    EXPECT_EQ(num_params(tied(on)), 5 * 3 + 5);
    EXPECT_EQ(num_params(tied(on, false)), 5 * 3 + 5 * 3 + 5);
  }
}

TEST(TiedParameters, AreOneAfterAStep) {
  const auto loss = [](const Tied& m) {
    return (m.embedding.weight.sum() * 2 + m.output.weight.sum() * 3 + m.output.bias.sum()) * 1;
  };
  Tied model = tied(autodiff);
  const std::vector<float> before = model.embedding.weight.to_vector();
  Sgd sgd = SgdConfig{.momentum = 0.9}.init(model);
  for (int step = 1; step <= 2; ++step) {
    auto [value, grads] = value_and_grad(model, loss);
    EXPECT_EQ(grads.by_path.size(), 2u);  // embedding.weight and output.bias
    model = sgd.step(0.1, std::move(model), grads);
    EXPECT_TRUE(is_tied(model)) << "after step " << step;
  }
  // The gradient is 2 + 3 from both places; the velocity 5, then 9.5.
  const std::vector<float> after = model.output.weight.to_vector();
  for (std::size_t i = 0; i < after.size(); ++i) EXPECT_NEAR(after[i], before[i] - 0.1 * (5 + 9.5), 1e-5);
}

TEST(TiedParameters, StayTiedWhereModelsAreMappedAndMoved) {
  const Tied model = tied(autodiff);
  EXPECT_TRUE(is_tied(map_params(model, [](const std::string&, const Value& value) { return value * 2; })));
  EXPECT_TRUE(is_tied(to_device(model, cpu)));
  EXPECT_TRUE(is_tied(to_device(to_device(model, cpu), autodiff)));
  EXPECT_TRUE(is_tied(valid(model)));
  const auto copy = Tied(model);
  EXPECT_TRUE(is_tied(copy));
}

TEST(TiedParameters, AreSavedOnceAndLoadedInBothPlaces) {
  const Tied model = tied(autodiff);
  EXPECT_EQ(names_of(model), (std::vector<std::string>{"embedding.weight", "output.bias"}));
  const std::vector<std::byte> bytes = write_safetensors(record_of(model));
  const Tied loaded = from_record(view_safetensors(bytes, "tied.safetensors"), tied(autodiff), "tied.safetensors");
  EXPECT_TRUE(is_tied(loaded));
  EXPECT_EQ(loaded.output.weight.to_vector(), model.output.weight.to_vector());
}

TEST(TiedParameters, OfAFileAreNotLoadedIntoAModelWithoutThem) {
  const std::vector<std::byte> bytes = write_safetensors(record_of(tied(autodiff)));
  const TensorFileView view = view_safetensors(bytes, "tied.safetensors");
  EXPECT_EQ(sentence_of([&] { return from_record(view, tied(autodiff, false), "tied.safetensors").output.bias; }),
            "LoadError: tied.safetensors: 'output.weight' is missing (if it is tied to 'embedding.weight' in the file, "
            "LoadOptions::aliases says so)");
}

TEST(TiedParameters, AreThoseThatWereCopiedAlone) {
  for (const Device& on : {cpu, autodiff}) {
    const Tensor<2> numbers = ones({5, 3}, on);
    Tied model = tied(on);
    model.embedding.weight = nn::Param(numbers);
    model.output.weight = nn::Param(numbers);
    EXPECT_EQ(num_params(model), 2 * 15 + 5);
    model.output.weight = nn::Param(model.embedding.weight.detach());
    EXPECT_EQ(num_params(model), 2 * 15 + 5);
  }
}

TEST(TiedParameters, MayBeManyCopiesOfALayer) {
  const std::vector<nn::Linear> layers(3, nn::LinearConfig{.in = 2, .out = 2}.init(autodiff));
  EXPECT_EQ(num_params(layers), 6);
}

}  // namespace
}  // namespace kiln

// Adapters: against the same sums written out, for any layer, several at once, merged and taken away again.
#include "kiln/nn/adapt/adapted.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kiln/core/config/arguments.hpp"
#include "kiln/kiln.hpp"

#include "tests/nn/sines.hpp"
#include "tests/support/devices.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

using test::autodiff;

/// A language model of sorts, whose output is tied to its embedding.
struct Tied {
  nn::Embedding embedding;
  nn::Linear hidden, output;

  Tensor<2> forward(const Tensor<1, Int>& words) const {
    return output.forward(hidden.forward(embedding.forward(words)).tanh());
  }
};
Tied make_tied() {
  autodiff.seed(4);
  Tied model{nn::EmbeddingConfig{.count = 5, .size = 3}.init(autodiff), nn::LinearConfig{3, 3}.init(autodiff),
             nn::LinearConfig{3, 5}.init(autodiff)};
  model.output.weight = model.embedding.weight;
  return model;
}
Tensor<1, Int> words() { return Tensor<1, Int>::of({0, 3, 1, 4}, autodiff); }
Tensor<1, Int> next_words() { return Tensor<1, Int>::of({3, 1, 4, 0}, autodiff); }

using Doubles = std::vector<double>;
Doubles numbers(const auto& tensor) { return tensor.data().to(DType::F64).template to_vector<double>(); }
nn::LowRank& low_rank(auto& model, std::string_view name, std::string_view path) {
  return std::get<nn::LowRank>(model.adapters.at(name).parts.at(path));
}
/// b [out, rank] times a [rank, in], times scale, as loops.
Doubles change_of(const nn::LowRank& part) {
  const auto out = static_cast<std::size_t>(part.b.dim(0)), rank = static_cast<std::size_t>(part.b.dim(1)),
             in = static_cast<std::size_t>(part.a.dim(1));
  const Doubles a = numbers(part.a), b = numbers(part.b);
  Doubles change(out * in);
  for (std::size_t o = 0; o < out; ++o)
    for (std::size_t i = 0; i < in; ++i)
      for (std::size_t r = 0; r < rank; ++r) change[o * in + i] += part.scale * b[o * rank + r] * a[r * in + i];
  return change;
}
void expect_near(const Doubles& found, const Doubles& expected, double tolerance = 1e-5) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], tolerance) << i;
}
Doubles sum_of(Doubles a, const Doubles& b, double share = 1) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] += share * b[i];
  return a;
}

TEST(Adapted, TrainsATiedEmbeddingWithLittle) {
  const Tied plain = make_tied();
  Adapted<Tied> model = adapted(plain);
  model.add("task", LoraConfig{.weights = "embedding", .rank = 2, .alpha = 4});
  EXPECT_EQ(numbers(model.forward(words())), numbers(plain.forward(words()))) << "it changes nothing at first";
  EXPECT_EQ(num_trained_params(model), 2 * 3 + 5 * 2);

  const nn::CrossEntropyLoss loss;
  Adam adam = AdamConfig{}.init(model);
  float first = 0, last = 0;
  for (int step = 0; step < 60; ++step) {
    const auto [value, grads] =
        value_and_grad(model, [&](const auto& m) { return loss.forward(m.forward(words()), next_words()); });
    EXPECT_EQ(grads.by_path.size(), 2u);
    model = adam.step(0.05, std::move(model), grads);
    (step == 0 ? first : last) = value.item();
  }
  EXPECT_LT(last, first / 2);
  EXPECT_EQ(numbers(model.base.embedding.weight), numbers(plain.embedding.weight)) << "the base stays as it is";

  const Tied merged = model.merged();
  const nn::LowRank& part = low_rank(model, "task", "embedding.weight");
  EXPECT_EQ(part.scale, 2);
  expect_near(numbers(merged.embedding.weight), sum_of(numbers(plain.embedding.weight), change_of(part)));
  EXPECT_EQ(merged.output.weight.identity(), merged.embedding.weight.identity()) << "still one weight";
  expect_near(numbers(merged.forward(words())), numbers(model.forward(words())));
}

template <class M>
M in_doubles(const M& model) {
  return map_params(model, [](const auto&, const Value& value) { return cast(value, DType::F64); });
}

TEST(Adapted, HasTheGradientsOfTheSumWrittenOut) {
  Adapted<nn::Linear> model = adapted(in_doubles(nn::LinearConfig{3, 4}.init(autodiff)));
  model.add("low", LoraConfig{.rank = 2});
  model.adapters = in_doubles(model.adapters);
  low_rank(model, "low", "weight").b = nn::Param<2>(sines({4, 2}, 0.9, 0.2, autodiff, DType::F64));
  const Tensor<2> x(sines({5, 3}, 0.37, 0.1, autodiff, DType::F64));
  const auto loss = [&](const auto& m) { return m.forward(x).tanh().square().sum(); };
  const GradientsParams grads = value_and_grad(model, loss).grads;
  ASSERT_EQ(grads.by_path.size(), 2u);
  for (const char* const path : {"adapters.low.parts.weight.a", "adapters.low.parts.weight.b"}) {
    const TensorData found = grads.find(path)->data();
    for (std::int64_t i = 0; i < found.numel(); ++i) {
      const auto at = [&](double step) {
        const auto moved = map_params(model, [&](const std::string& other, const Value& value) {
          TensorData data = value.data();
          if (other == path) data.as<double>()[static_cast<std::size_t>(i)] += step;
          return from_data(std::move(data), autodiff);
        });
        return loss(moved).template item<double>();
      };
      EXPECT_NEAR(found.at(i), (at(1e-6) - at(-1e-6)) / 2e-6, 1e-6) << path << ' ' << i;
    }
  }
}

TEST(Adapted, TakesSeveralByStrengthAndGivesThemUpAgain) {
  const Tied plain = make_tied();
  Adapted<Tied> model = adapted(plain);
  model.add("one", LoraConfig{.weights = "hidden.weight", .rank = 1});
  model.add("two", LoraConfig{.weights = "**.weight", .rank = 2, .alpha = 3, .rank_stabilized = true});
  low_rank(model, "one", "hidden.weight").b = nn::Param<2>(sines({3, 1}, 1, 1, autodiff));
  low_rank(model, "two", "hidden.weight").b = nn::Param<2>(sines({3, 2}, 2, 1, autodiff));
  EXPECT_NEAR(low_rank(model, "two", "hidden.weight").scale, 3 / std::sqrt(2.0), 1e-12);
  const Doubles base = numbers(plain.hidden.weight), one = change_of(low_rank(model, "one", "hidden.weight")),
                two = change_of(low_rank(model, "two", "hidden.weight"));
  const auto weight = [&] { return numbers(model.model().hidden.weight); };
  expect_near(weight(), sum_of(sum_of(base, one), two));
  model.adapters.at("two").strength = 0.25;
  expect_near(weight(), sum_of(sum_of(base, one), two, 0.25));
  model.adapters.at("two").strength = 0;
  expect_near(weight(), sum_of(base, one));
  model.remove("one");
  EXPECT_EQ(weight(), base);
  EXPECT_EQ(model.adapters.size(), 1u);
}

struct ConvNet {
  nn::Conv2d conv;
  nn::BatchNorm norm;
  nn::Linear head;

  Tensor<2> forward(const Tensor<4>& x) const { return head.forward(norm.forward(conv.forward(x)).mean(2, 3)); }
};

TEST(Adapted, WorksOnConvolutionsBesideAHeadThatIsTrained) {
  autodiff.seed(9);
  Adapted<ConvNet> model =
      adapted(ConvNet{nn::Conv2dConfig{.in = 2, .out = 3, .kernel = {3}}.init(autodiff),
                      nn::BatchNormConfig{.channels = 3}.init(autodiff), nn::LinearConfig{3, 2}.init(autodiff)});
  model.base = unfreeze(std::move(model.base), "head");
  model.add("low", LoraConfig{.weights = "conv.weight", .rank = 2});
  nn::LowRank& part = low_rank(model, "low", "conv.weight");
  EXPECT_EQ(part.a.shape(), Shape({2, 2 * 3 * 3}));
  part.b = nn::Param<2>(sines({3, 2}, 1, 1, autodiff));
  expect_near(numbers(model.model().conv.weight), sum_of(numbers(model.base.conv.weight), change_of(part)));

  const Tensor<4> x(sines({2, 2, 5, 5}, 0.3, 0, autodiff));
  const auto grads = value_and_grad(model, [&](const auto& m) { return m.forward(x).square().sum(); }).grads;
  std::vector<std::string> paths;
  for (const auto& [path, grad] : grads.by_path) paths.push_back(path);
  EXPECT_EQ(paths, (std::vector<std::string>{"adapters.low.parts.conv.weight.a", "adapters.low.parts.conv.weight.b",
                                             "base.head.bias", "base.head.weight"}));
  EXPECT_NE(numbers(model.base.norm.running_mean.get()), Doubles(3)) << "the base learns the batch's statistics";
}

/// magnitude * weight / |weight|, the norm of each row of [out, in].
Doubles directed(const Doubles& weight, const Doubles& magnitude) {
  const std::size_t in = weight.size() / magnitude.size();
  Doubles result = weight;
  for (std::size_t o = 0; o < magnitude.size(); ++o) {
    double square = 0;
    for (std::size_t i = 0; i < in; ++i) square += weight[o * in + i] * weight[o * in + i];
    for (std::size_t i = 0; i < in; ++i) result[o * in + i] *= magnitude[o] / std::sqrt(square);
  }
  return result;
}

TEST(Adapted, StacksReparameterisations) {
  Adapted<nn::Linear> model = adapted(nn::LinearConfig{3, 2}.init(autodiff));
  model.add("low", LoraConfig{.rank = 1});
  model.add("length", MagnitudeConfig{});
  expect_near(numbers(model.model().weight), numbers(model.base.weight), 1e-6);
  nn::LowRank& part = low_rank(model, "low", "weight");
  part.b = nn::Param<2>(sines({2, 1}, 1, 1, autodiff));
  auto& length = std::get<nn::Magnitude>(model.adapters.at("length").parts.at("weight"));
  length.magnitude = nn::Param<1>(Tensor<1>::of({2, 0.5f}, autodiff));
  expect_near(numbers(model.model().weight), directed(sum_of(numbers(model.base.weight), change_of(part)), {2, 0.5}));
  EXPECT_EQ(value_and_grad(model, [](const auto& m) { return m.model().weight.cos().sum(); }).grads.by_path.size(), 3u);
}

TEST(Adapted, HoldsABaseAsCodes) {
  const nn::Linear plain = nn::LinearConfig{16, 4}.init(autodiff);
  Adapted<nn::Linear> model = adapted(plain);
  model.quantize("codes", "weight");
  EXPECT_TRUE(model.base.weight.empty());
  const auto& codes = std::get<nn::Codes>(model.adapters.at("codes").parts.at("weight"));
  EXPECT_EQ(codes.codes.dtype(), DType::I8);
  const Doubles weight = numbers(plain.weight), found = numbers(model.model().weight), scale = numbers(codes.scale);
  for (std::size_t o = 0; o < 4; ++o) {
    double largest = 0;
    for (std::size_t i = 0; i < 16; ++i) largest = std::max(largest, std::abs(weight[16 * o + i]));
    EXPECT_NEAR(scale[o], largest / 127, 1e-7);
  }
  for (std::size_t i = 0; i < weight.size(); ++i)
    EXPECT_NEAR(found[i], weight[i], 0.5001 * scale[i / 16]) << "the nearest of 255 numbers";

  model.add("low", LoraConfig{.weights = "weight", .rank = 2});
  EXPECT_EQ(num_trained_params(model), 2 * 16 + 4 * 2);
  const Tensor<2> x(sines({3, 16}, 0.3, 0, autodiff));
  const auto grads = value_and_grad(model, [&](const auto& m) { return m.forward(x).square().sum(); }).grads;
  EXPECT_EQ(grads.by_path.size(), 2u);
  low_rank(model, "low", "weight").b = nn::Param<2>(sines({4, 2}, 1, 1, autodiff));
  const nn::Linear merged = model.merged();
  expect_near(numbers(merged.weight), sum_of(found, change_of(low_rank(model, "low", "weight"))));
  EXPECT_TRUE(merged.weight.is_frozen());
  EXPECT_EQ(
      sentence_of([&] { model.remove("codes"); }),
      "ArgumentError: remove: 'codes' holds the weights of the model as codes; merged() makes them weights again");
}

TEST(Adapted, SavesItsAdaptersAlone) {
  Adapted<Tied> model = adapted(make_tied()), other = adapted(make_tied());
  for (auto* each : {&model, &other}) each->add("task", LoraConfig{.weights = "hidden", .rank = 1});
  low_rank(model, "task", "hidden.weight").b = nn::Param<2>(sines({3, 1}, 1, 1, autodiff));
  const TensorFile record = record_of(model.adapters);
  std::vector<std::string> names;
  for (const auto& [name, tensor] : record.tensors) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"task.parts.hidden.weight.a", "task.parts.hidden.weight.b"}));
  const std::vector<std::byte> bytes = write_safetensors(record);
  other.adapters = from_record(view_safetensors(bytes, "file"), std::move(other.adapters), "file");
  EXPECT_EQ(numbers(other.forward(words())), numbers(model.forward(words())));
}

struct Finetuning {
  LoraConfig lora = {.rank = 4};
  Selector frozen = !Selector("head");
};

TEST(Adapted, IsWhatAConfigSays) {
  const Finetuning read =
      from_json<Finetuning>(R"({"lora": {"weights": {"type": "Linear"}, "alpha": 2}, "frozen": "base"})", "run.json");
  EXPECT_EQ(read.lora.rank, 4);
  EXPECT_EQ(read.lora.alpha, 2);
  EXPECT_EQ(text(read.lora.weights), "type Linear");
  EXPECT_EQ(text(read.frozen), "'base'");
  EXPECT_EQ(text(from_json<Finetuning>("{}", "run.json").frozen), "!'head'");
  EXPECT_EQ(text(from_json<Finetuning>(to_json(read), "again").lora.weights), "type Linear");
  const char* const arguments[] = {"program", "--lora.weights=**.query", "--frozen={\"not\": \"head\"}"};
  const Finetuning told = from_arguments<Finetuning>(3, arguments);
  EXPECT_EQ(text(told.lora.weights), "'**.query'");
  EXPECT_EQ(text(told.frozen), "!'head'");
  EXPECT_EQ(sentence_of([] { from_json<Finetuning>(R"({"lora": {"weights": 1}})", "run.json"); }).substr(0, 61),
            "ConfigError: run.json: 'lora.weights' must be a pattern or an");
}

TEST(Adapted, SaysWhatIsWrong) {
  Adapted<Tied> model = adapted(make_tied());
  const auto sentence = [&](const std::string& name, const LoraConfig& config) {
    return sentence_of([&] { model.add(name, config); });
  };
  EXPECT_EQ(sentence("a", {.weights = "hiden"}),
            "ArgumentError: LoraConfig: 'hiden' selects none of the model's parameters (did you mean 'hidden'?)");
  EXPECT_EQ(sentence("a", {.weights = "hidden.bias"}),
            "ArgumentError: LoraConfig: 'hidden.bias' selects no weight [out, ...] of floats");
  EXPECT_EQ(sentence("a", {.rank = 0}), "ArgumentError: LoraConfig: rank = 0 must be positive");
  EXPECT_EQ(sentence("a.b", {}), "ArgumentError: an adapter cannot be named 'a.b': names are parts of dotted paths");
  model.add("task", LoraConfig{});
  EXPECT_EQ(sentence("task", {}), "ArgumentError: 'task' cannot be added: there is one already");
  EXPECT_EQ(sentence_of([&] { model.remove("tsk"); }), "ArgumentError: there is no 'tsk' (did you mean 'task'?)");
  EXPECT_EQ(sentence_of([&] { adapted(make_tied()).quantize("codes", "embedding"); }),
            "ArgumentError: quantize: 'embedding.weight' is 'output.weight' as well: a weight in several places cannot "
            "be quantized");
}

}  // namespace
}  // namespace kiln

// Training steps and inferences of whole models. A step is the loss, its gradients and AdamW's update.
#include <memory>
#include <optional>

#include "bench/models/gpt.hpp"
#include "bench/models/lstm.hpp"
#include "bench/suite/workload.hpp"
#include "examples/guide/model.hpp"
#include "models/resnet.hpp"

namespace bench {
namespace {

template <class Model>
struct Training {
  Model model;
  AdamW optimizer = AdamWConfig{.weight_decay = 0.01}.init(model);
};

/// A training step that compares logits(model) [rows, classes] with `targets` [rows].
template <class Model, class Logits>
Sample training(const Model& model, const Tensor<1, Int>& targets, Logits logits) {
  const auto state = std::make_shared<Training<Model>>(Training<Model>{train(model)});
  return timed(device(), [=] {
    auto [loss, grads] = value_and_grad(
        state->model, [&](const Model& m) { return nn::CrossEntropyLoss{}.forward(logits(m), targets); });
    state->model = state->optimizer.step(1e-4, std::move(state->model), grads);
    return Values{loss.value()};
  });
}

template <class Model, int D>
Sample inference(const Model& model, const Tensor<D>& x) {
  return timed(device(), [model = valid(model), x] { return Values{model.forward(x).value()}; });
}

Tensor<1, Int> classes(std::int64_t count, std::int64_t end) { return randint({count}, 0, end, device()); }

/// Trains the model in float32, with its products in `products`.
Sample gpt_training(const models::GptConfig& config, DType products) {
  const auto tokens = randint({8, config.context}, 0, config.vocabulary, device());
  return training(config.init(device().autodiff()), tokens.roll(-1, 1).flatten(), [=](const models::Gpt& gpt) {
    const Autocast autocast(products);
    return gpt.forward(tokens).template flatten<0, 1>();
  });
}

/// Trains in float32, or with products and convolutions in a half type.
Sample resnet_training(std::int64_t count, std::int64_t pixels, std::optional<DType> products) {
  const auto images = randn({count, 3, pixels, pixels}, device());
  return training(models::resnet(50).init(device().autodiff()), classes(count, 1000), [=](const models::ResNet& model) {
    if (!products) return model.forward(images);
    const Autocast autocast(*products);
    return model.forward(images);
  });
}

}  // namespace

// Counts two floating-point operations for each multiplication with addition in the products and convolutions of a
// forward pass, and three times as many for a step.
std::vector<Workload> model_workloads() {
  constexpr double kMnist = 2 * 1.24e6, kResNet = 2 * 4.09e9;  // per image
  const bool large = on_gpu();
  const std::string gpt = large ? "gpt_124M" : "gpt_5M";
  const models::GptConfig config =
      large ? models::GptConfig{.vocabulary = 50304, .context = 1024, .width = 768, .heads = 12, .layers = 12}
            : models::GptConfig{.vocabulary = 8192, .context = 128};
  const auto width = static_cast<double>(config.width), time = static_cast<double>(config.context),
             layers = static_cast<double>(config.layers);
  const double gpt_flops =
      2 * 8 * time * (width * (12 * width * layers + static_cast<double>(config.vocabulary)) + layers * time * width);
  const std::int64_t images = large ? 64 : 8, pixels = large ? 224 : 64;
  const double resnet_flops = 3 * static_cast<double>(images * pixels * pixels) * kResNet / (224 * 224);
  struct Sequences {
    std::int64_t size, time;
  };
  const Sequences sequences = large ? Sequences{64, 128} : Sequences{32, 64};
  const models::SequenceClassifierConfig lstm =
      large ? models::SequenceClassifierConfig{.in = 512, .hidden = 512} : models::SequenceClassifierConfig{};
  const double lstm_flops = 2.0 * 4 * static_cast<double>((lstm.in + lstm.hidden) * lstm.hidden * sequences.time);
  std::vector<Workload> rows{
      {.name = "mnist_guide_train_b64",
       .work = {.flops = 3 * 64 * kMnist},
       .make =
           [] {
             const auto images = randn({64, 28, 28}, device());
             return training(guide::ModelConfig{}.init(device().autodiff()), classes(64, 10),
                             [=](const guide::Model& model) { return model.forward(images); });
           }},
      {.name = "mnist_guide_infer_b1",
       .work = {.flops = kMnist},
       .make = [] { return inference(guide::ModelConfig{}.init(device()), randn({1, 28, 28}, device())); }},
      {.name = gpt + "_train",
       .work = {.flops = 3 * gpt_flops},
       .make = [=] { return gpt_training(config, DType::F32); }},
      {.name = gpt + "_train_bf16",
       .work = {.flops = 3 * gpt_flops, .bf16 = true},
       .make = [=] { return gpt_training(config, DType::BF16); }},
      {.name = text("resnet50_train_b", images, "_", pixels, "px_f32"),
       .work = {.flops = resnet_flops},
       .make = [=] { return resnet_training(images, pixels, {}); }},
      {.name = text("resnet50_train_b", images, "_", pixels, "px_bf16"),
       .work = {.flops = resnet_flops, .bf16 = true},
       .make = [=] { return resnet_training(images, pixels, DType::BF16); }},
      {.name = "resnet50_infer_b1_224px_f32",
       .work = {.flops = kResNet},
       .make = [] { return inference(models::resnet(50).init(device()), randn({1, 3, 224, 224}, device())); }},
      {.name = "lstm_train",
       .work = {.flops = 3 * static_cast<double>(sequences.size) * lstm_flops},
       .make =
           [=] {
             const auto x = randn({sequences.size, sequences.time, lstm.in}, device());
             return training(lstm.init(device().autodiff()), classes(sequences.size, 10),
                             [=](const models::SequenceClassifier& model) { return model.forward(x); });
           }},
  };
  // Processors have few kernels of float16.
  if (large)
    rows.push_back({.name = gpt + "_train_f16", .work = {.flops = 3 * gpt_flops}, .make = [=] {
                      return gpt_training(config, DType::F16);
                    }});
  return rows;
}

}  // namespace bench

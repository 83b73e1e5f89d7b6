// Training steps and inferences of whole models. A step is the loss, its gradients and AdamW's update.
#include <memory>

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

/// logits(model) are compared with `targets` [rows].
template <class Model, class Logits>
Sample training(const Model& model, const Tensor<1, Int>& targets, Logits logits) {
  const auto state = std::make_shared<Training<Model>>(Training<Model>{train(model)});
  return timed(cpu(), [=] {
    auto [loss, grads] = value_and_grad(
        state->model, [&](const Model& m) { return nn::CrossEntropyLoss{}.forward(logits(m), targets); });
    state->model = state->optimizer.step(1e-4, std::move(state->model), grads);
    return Values{loss.value()};
  });
}

template <class Model, int D>
Sample inference(const Model& model, const Tensor<D>& x) {
  return timed(cpu(), [model = valid(model), x] { return Values{model.forward(x).value()}; });
}

Tensor<1, Int> classes(std::int64_t count, std::int64_t end) { return randint({count}, 0, end, cpu()); }

/// The model in float32, its products in `products`.
Sample gpt_training(DType products) {
  constexpr std::int64_t kBatch = 8, kTime = 128, kVocabulary = 8192;
  const auto tokens = randint({kBatch, kTime}, 0, kVocabulary, cpu());
  const models::GptConfig config{.vocabulary = kVocabulary, .context = kTime};
  return training(config.init(cpu().autodiff()), tokens.roll(-1, 1).flatten(), [=](const models::Gpt& gpt) {
    const Autocast autocast(products);
    return gpt.forward(tokens).template flatten<0, 1>();
  });
}

}  // namespace

// Floating-point operations: two for each multiplication and addition of the products and convolutions of a forward
// pass, and three times as many for a step.
std::vector<Workload> model_workloads() {
  constexpr double kMnist = 2 * 1.24e6, kGpt = 2 * (5.24e6 + 4 * 128 * 256), kResNet = 2 * 4.09e9,
                   kLstm = 2 * 393216 * 64;
  return {
      {.name = "mnist_guide_train_b64",
       .work = {.flops = 3 * 64 * kMnist},
       .make =
           [] {
             const auto images = randn({64, 28, 28}, cpu());
             return training(guide::ModelConfig{}.init(cpu().autodiff()), classes(64, 10),
                             [=](const guide::Model& model) { return model.forward(images); });
           }},
      {.name = "mnist_guide_infer_b1",
       .work = {.flops = kMnist},
       .make = [] { return inference(guide::ModelConfig{}.init(cpu()), randn({1, 28, 28}, cpu())); }},
      {.name = "gpt_5M_train", .work = {.flops = 3 * 1024 * kGpt}, .make = [] { return gpt_training(DType::F32); }},
      {.name = "gpt_5M_train_bf16",
       .work = {.flops = 3 * 1024 * kGpt, .bf16 = true},
       .make = [] { return gpt_training(DType::BF16); }},
      {.name = "resnet50_train_b8_64px_f32",
       .work = {.flops = 3 * 8 * kResNet * 64 * 64 / (224 * 224)},
       .make =
           [] {
             const auto images = randn({8, 3, 64, 64}, cpu());
             return training(models::resnet(50).init(cpu().autodiff()), classes(8, 1000),
                             [=](const models::ResNet& model) { return model.forward(images); });
           }},
      {.name = "resnet50_infer_b1_224px_f32",
       .work = {.flops = kResNet},
       .make = [] { return inference(models::resnet(50).init(cpu()), randn({1, 3, 224, 224}, cpu())); }},
      {.name = "lstm_train",
       .work = {.flops = 3 * 32 * kLstm},
       .make =
           [] {
             const auto sequences = randn({32, 64, 128}, cpu());
             return training(models::SequenceClassifierConfig{}.init(cpu().autodiff()), classes(32, 10),
                             [=](const models::SequenceClassifier& model) { return model.forward(sequences); });
           }},
  };
}

}  // namespace bench

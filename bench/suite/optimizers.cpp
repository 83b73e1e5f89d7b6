// Steps of optimizers alone, with random gradients for the parameters of the GPT of models.cpp: 5.3 million in large
// and small tensors.
#include <memory>

#include "bench/models/gpt.hpp"
#include "bench/suite/workload.hpp"
#include "kiln/optim/config.hpp"

namespace bench {
namespace {

/// Takes a step with gradients of the selected parameters; the others stay as they are.
Sample steps(const RuleConfig& rule, const Selector& kept) {
  struct State {
    models::Gpt model;
    AnyOptimizer optimizer;
    GradientsParams grads{};
  };
  models::Gpt model = models::GptConfig{.vocabulary = 8192, .context = 128}.init(device().autodiff());
  const nn::Paths paths = selected_params(model, kept);
  visit_params(model, [&](const std::string& path, nn::AnyLeaf& param) { param.set_frozen(!paths.contains(path)); });
  AnyOptimizer optimizer = OptimizerConfig{.rule = rule}.init(model);
  const auto state = std::make_shared<State>(State{std::move(model), std::move(optimizer)});
  visit_params(state->model, [&](const std::string& path, const auto& param) {
    if (paths.contains(path)) state->grads.by_path[path] = normals(param.shape());
  });
  device().sync();
  return timed(device(), [state] {
    state->model = state->optimizer.step(1e-4, std::move(state->model), state->grads);
    return Values{};
  });
}

Workload of(std::string name, const RuleConfig& rule, const Selector& kept = Selector::all()) {
  return {.name = std::move(name), .work = {}, .make = [=] { return steps(rule, kept); }};
}

}  // namespace

// Muon computes products of matrices, so bytes alone do not describe its work.
std::vector<Workload> optimizer_workloads() {
  return {
      of("step_sgd", SgdConfig{.momentum = 0.9}),
      of("step_adam", AdamConfig{}),
      of("step_adamw", AdamWConfig{}),
      of("step_adamw_amsgrad", AdamWConfig{.amsgrad = true}),
      of("step_adagrad", AdaGradConfig{}),
      of("step_adadelta", AdaDeltaConfig{}),
      of("step_rmsprop_centered", RmsPropConfig{.momentum = 0.9, .centered = true}),
      of("step_nadam", NAdamConfig{}),
      of("step_radam", RAdamConfig{}),
      of("step_adafactor", AdafactorConfig{}),
      of("step_muon", MuonConfig{}, Selector::rank(2)),
      of("step_lion", LionConfig{}),
      of("step_lamb", LambConfig{}),
      of("step_adan", AdanConfig{}),
      of("step_schedule_free", ScheduleFreeAdamWConfig{}),
  };
}

}  // namespace bench

#include <cmath>
#include <string>

#include "bench/learner/learner.hpp"
#include "examples/guide/model.hpp"
#include "kiln/data/digits.hpp"
#include "kiln/data/image_tensors.hpp"
#include "kiln/data/loader.hpp"
#include "kiln/kiln.hpp"
#include "kiln/train.hpp"

namespace bench {
namespace {

using namespace kiln;
using guide::Model;

Model new_model() {
  const Device device = Device::cpu().autodiff();
  device.seed(1);
  return train(guide::ModelConfig{}.init(device));
}

ClassificationOutput step(const Model& m, const ImageBatch& batch) {
  const auto [images, targets] = to_tensors(batch, Device::cpu());
  const Tensor<2> scores = m.forward(images);
  return {nn::CrossEntropyLoss{}.forward(scores, targets), scores, targets};
}

std::vector<ImageBatch> batches(const Run& run) {
  DataLoader loader(Digits({.count = run.steps * run.batch, .seed = 1}), ImageBatcher::normalized(),
                    {.batch_size = run.batch});
  std::vector<ImageBatch> all;
  for (ImageBatch& batch : loader) all.push_back(std::move(batch));
  return all;
}

/// Processor seconds of a step, by hand.
double by_hand(const std::vector<ImageBatch>& data) {
  Model model = new_model();
  Adam optimizer = AdamConfig{}.init(model);
  const double begin = process_seconds();
  double sum = 0;
  for (const ImageBatch& batch : data) {
    auto [loss, grads] = value_and_grad(model, [&](const Model& m) { return step(m, batch).loss; });
    model = optimizer.step(1e-3, std::move(model), grads);
    sum += static_cast<double>(loss.item());
  }
  const double seconds = process_seconds() - begin;
  require<DataError>(sum > 0, "the losses add up to ", sum);
  return seconds / static_cast<double>(data.size());
}

enum class Extras { None, Metrics, Web, Dashboard };

double by_learner(std::vector<ImageBatch>& data, Extras extras) {
  const Model model = new_model();
  Learner learner(model, AdamConfig{}.init(model), step, {.epochs = 1});
  learner.rate(1e-3);
  if (extras != Extras::None)
    learner.metric(metric::Accuracy{})
        .metric(metric::FBeta{}, "f1")
        .train_metric(metric::ItemsPerSecond{})
        .train_metric(metric::CpuUse{})
        .train_metric(metric::CpuMemory{});
  if (extras == Extras::Web) learner.add(WebDashboard());
  if (extras == Extras::Dashboard) learner.add(Dashboard());
  const double begin = process_seconds();
  learner.fit(data);
  return (process_seconds() - begin) / static_cast<double>(data.size());
}

}  // namespace

void measure_overhead(const Run& run) {
  auto data = batches(run);
  std::vector<double> hand, ratios[4];
  by_hand(data);  // caches and plans
  for (std::int64_t round = 0; round < run.rounds; ++round)
    for (const Extras extras : {Extras::None, Extras::Metrics, Extras::Web, Extras::Dashboard}) {
      hand.push_back(by_hand(data));  // just before each, as the machine has better and worse seconds
      ratios[static_cast<int>(extras)].push_back(by_learner(data, extras) / hand.back());
    }
  const auto more = [&](Extras extras) { return 100 * (median(ratios[static_cast<int>(extras)]) - 1); };
  std::fprintf(report,
               "a step by hand %.3f ms of processors; by a Learner %+.1f %%, with metrics %+.1f %%, and the page %+.1f "
               "%%, or the dashboard %+.1f %% (medians of %lld)\n",
               1e3 * median(hand), more(Extras::None), more(Extras::Metrics), more(Extras::Web),
               more(Extras::Dashboard), static_cast<long long>(run.rounds));
}

}  // namespace bench

#include "tests/train/together.hpp"

#include <bit>
#include <memory>
#include <numeric>

#include "kiln/collective/thread_ranks.hpp"
#include "kiln/data/stream/sources.hpp"
#include "kiln/data/stream/steps.hpp"
#include "kiln/data/stream/stream_loader.hpp"
#include "kiln/store/record/record_file.hpp"
#include "kiln/train/checkpointer.hpp"
#include "kiln/train/early_stopping.hpp"
#include "tests/train/metric/metric_data.hpp"

namespace kiln {

template class Learner<test::Net, Sgd, test::FitExamples>;

namespace test {
namespace {

/// Notes the evaluations that it is told of, also for copies.
struct Notes {
  std::shared_ptr<std::vector<training::Evaluation>> all = std::make_shared<std::vector<training::Evaluation>>();
  void on(const training::Evaluation& evaluation) { all->push_back(evaluation); }
};

Examples batched(std::span<const Example> items) {
  Examples batch;
  for (const Example& item : items) {
    batch.x.insert(batch.x.end(), {item.x[0], item.x[1]});
    batch.y.push_back(item.y);
  }
  return batch;
}

std::vector<Example> made(std::int64_t items) {
  const auto a = noise(1, items), b = noise(2, items);
  std::vector<Example> all;
  for (std::size_t i = 0; i < a.size(); ++i)
    all.push_back({{static_cast<float>(a[i]), static_cast<float>(b[i])}, static_cast<float>(a[i] * b[i] - a[i])});
  return all;
}

/// A rank's shard of the examples, through a buffer that shuffles them.
StreamLoader<Examples> streamed(const Together& options, const Ranks& ranks) {
  const auto examples = in_memory(made(options.items));
  std::vector<std::int64_t> indices(static_cast<std::size_t>(options.items));
  std::iota(indices.begin(), indices.end(), 0);
  const auto shard = sharded(shuffled(stream_of(in_memory(indices)), 10), ranks->rank(), ranks->size());
  const auto stream = mapped(shard, [examples](std::int64_t index) { return examples->get(index); });
  return StreamLoader(stream, batched,
                      {.batch_size = options.batch / ranks->size(), .seed = 5, .workers = 2, .save_every = 1});
}

}  // namespace

Tensor<2> Net::forward(const Tensor<2>& x) const {
  return second.forward(dropout.forward(norm.forward(first.forward(x)).tanh()));
}

RegressionOutput FitExamples::operator()(const Net& net, const Examples& batch) const {
  const auto count = static_cast<std::int64_t>(batch.y.size());
  const auto x = Tensor<2>::of(batch.x, {count, 2}, device), y = Tensor<2>::of(batch.y, {count, 1}, device);
  const Tensor<2> predictions = net.forward(x);
  return {(predictions - y).square().mean(), predictions, y};
}

std::vector<Device> processors(int count) {
  std::vector<Device> all;
  for (int i = 0; i < count; ++i) all.push_back(another(Device::cpu()).autodiff());
  return all;
}

Net net(const Together& options) {
  const Device device = another(Device::cpu()).autodiff();
  device.seed(3);
  return {nn::LinearConfig{.in = 2, .out = options.hidden}.init(device),
          nn::BatchNormConfig{.channels = options.hidden}.init(device),
          {.probability = options.dropout},
          nn::LinearConfig{.in = options.hidden, .out = 1}.init(device)};
}

NetLearner net_learner(const Together& options, const Ranks& ranks, const Device& device) {
  Net model = train(nn::sync_batch_norm(to_device(net(options), device), ranks));
  auto optimizer = SgdConfig{.momentum = 0.9}.init(model);
  return NetLearner(std::move(model), std::move(optimizer), FitExamples{device.inner()}, options.config, ranks,
                    options.sharding);
}

DataLoader<Examples> examples(const Together& options, const Ranks& ranks, bool shuffled) {
  return DataLoader(
      in_memory(made(options.items)), batched,
      {.batch_size = options.batch / ranks->size(),
       .seed = 5,
       .sampler = sharded(shuffled ? in_random_order() : in_order(), ranks->rank(), ranks->size(), Rest::Keep)});
}

Trained train_together(const Together& options, const Ranks& ranks, const Device& device) {
  auto learner = net_learner(options, ranks, device);
  Notes notes;
  learner.rate(0.05).metric(metric::R2{}).metric(metric::MeanAbsoluteError{}).add(notes);
  learner.add(EarlyStopping{.patience = 1000});
  if (!options.checkpoints.empty()) learner.checkpoints(options.checkpoints, {.every_steps = 2, .last = 2});
  auto train = examples(options, ranks, true), valid = examples(options, ranks, false);
  auto stream = streamed(options, ranks);
  const auto ending = options.stream ? learner.fit(stream, valid) : learner.fit(train, valid);
  return {ending, weights_of(learner.model()), *notes.all};
}

std::vector<float> weights_of(const Net& net) {
  std::vector<float> all;
  visit_tensors(net, [&](const std::string&, const Value& value) {
    const auto numbers = value.data().to_vector<float>();
    all.insert(all.end(), numbers.begin(), numbers.end());
  });
  return all;
}

std::map<std::string, std::string> contents(const std::filesystem::path& directory) {
  const TensorSource record = open_tensors(latest_checkpoint(directory));
  std::map<std::string, std::string> all = record.metadata;
  all.erase("value.at.seconds");
  all.erase("checkpoint");
  for (const auto& [name, tensor] : record.tensors) {
    const TensorData data = tensor.read();
    all[name] = std::string(reinterpret_cast<const char*>(data.bytes().data()), data.bytes().size());
  }
  return all;
}

std::string bits_of(const std::vector<float>& weights) {
  std::string text;
  for (const float weight : weights) text += kiln::text(std::bit_cast<std::uint32_t>(weight), ' ');
  return text;
}

}  // namespace test
}  // namespace kiln

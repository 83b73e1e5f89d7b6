// A small training that is the same however many ranks share it: what tests of threads and of processes compare.
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "kiln/data/loader.hpp"
#include "kiln/nn/linear.hpp"
#include "kiln/nn/norm/sync_batch_norm.hpp"
#include "kiln/nn/regularization/dropout.hpp"
#include "kiln/optim/rules/sgd.hpp"
#include "kiln/train/learner.hpp"

namespace kiln::test {

struct Net {
  nn::Linear first;
  nn::BatchNorm norm;
  nn::Dropout dropout;
  nn::Linear second;
  Tensor<2> forward(const Tensor<2>& x) const;
};
struct Example {
  float x[2], y;
};
struct Examples {
  std::vector<float> x, y;
};
struct FitExamples {
  Device device;
  RegressionOutput operator()(const Net& net, const Examples& batch) const;
};
using NetLearner = Learner<Net, Sgd, FitExamples>;

struct Together {
  std::int64_t items = 45, batch = 12;  // of all ranks together; every number of ranks up to 4 divides it
  std::int64_t hidden = 5;
  double dropout = 0;
  LearnerConfig config{.epochs = 3, .log_every = 3, .seed = 7};
  std::filesystem::path checkpoints{};  // none where it is empty
  bool stream = false;                  // each rank has a shard of a stream, and reads it by threads
  Sharding sharding = Sharding::None;
};

/// Small buckets for as long as it lives.
struct Limit {
  explicit Limit(std::int64_t bytes) { training::limit_buckets(bytes); }
  ~Limit() { training::limit_buckets(0); }
};

/// So many processors, each for a rank.
std::vector<Device> processors(int count);
/// Always the same weights.
Net net(const Together& options);
NetLearner net_learner(const Together& options, const Ranks& ranks, const Device& device);
/// A rank's share, shuffled unless it is for validation.
DataLoader<Examples> examples(const Together& options, const Ranks& ranks, bool shuffled);

/// What is left of a training.
struct Trained {
  training::RunEnd ending;
  std::vector<float> weights;                       // and buffers
  std::vector<training::Evaluation> evaluations{};  // of rank 0
};
Trained train_together(const Together& options, const Ranks& ranks, const Device& device);

std::vector<float> weights_of(const Net& net);
/// All that the newest checkpoint of a directory has except the time and its run, by name.
std::map<std::string, std::string> contents(const std::filesystem::path& directory);
/// A text that tells whether weights are the same bits.
std::string bits_of(const std::vector<float>& weights);

}  // namespace kiln::test

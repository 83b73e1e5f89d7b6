// What a training is told. It goes with every checkpoint, so that what reads one needs nothing else.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

#include "kiln/core/config/json.hpp"
#include "kiln/ops/device.hpp"

namespace guide {

using namespace kiln;

struct Model;

struct ModelConfig {
  std::int64_t num_classes = 10;
  std::int64_t hidden_size = 512;
  double dropout = 0.5;

  Model init(const Device& device) const;
};

struct Settings {
  ModelConfig model = {};
  std::string data = "";
  std::int64_t epochs = 10;
  std::int64_t batch_size = 64;
  double learning_rate = 1e-3;
  std::uint64_t seed = 42;
};

Json to_json(const Settings& settings);
/// Those of the training that wrote a checkpoint.
Settings settings_of(const std::string& checkpoint);

inline std::filesystem::path checkpoints_of(const std::filesystem::path& artifacts) { return artifacts / "checkpoint"; }

}  // namespace guide

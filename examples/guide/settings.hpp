// What a training is told, and what it leaves behind: artifacts/config.json names the settings and the last checkpoint.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>

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
  std::int64_t epochs = 3;
  std::int64_t batch_size = 64;
  double learning_rate = 1e-3;
  std::uint64_t seed = 42;
};

/// Files beside config.json. They are named by their epoch and config.json is replaced last, so that whenever a
/// training is killed, what config.json names is complete and belongs together.
struct Checkpoint {
  std::int64_t epochs_done = 0;
  std::string model = "", optimizer = "";
  double test_accuracy = 0;  // in percent
};

struct Artifacts {
  Settings settings = {};
  Checkpoint checkpoint = {};
};

inline std::string config_file(const std::filesystem::path& artifacts) { return (artifacts / "config.json").string(); }

}  // namespace guide

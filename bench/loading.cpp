// From files to models: how long load() takes, and how long until each element has been read.
// bench/peers/torch_loading.py writes the files, and runs this beside PyTorch.
//
//   bench_loading --file MODEL.safetensors [--matrices N] [--side N] [--rounds N]; --help lists all
#include <chrono>
#include <cstdio>

#include "kiln/core/config/arguments.hpp"
#include "kiln/kiln.hpp"
#include "kiln/nn/module/uninitialized.hpp"
#include "kiln/store/save.hpp"

namespace {

using namespace kiln;

struct Run {
  std::string file;
  std::int64_t matrices = 30, side = 2048, rounds = 5;
};

struct Model {
  std::vector<nn::Linear> layers;
};
struct ModelConfig {
  std::int64_t matrices, side;
  Model init(const Device& device) const {
    Model model;
    for (std::int64_t i = 0; i < matrices; ++i)
      model.layers.push_back(nn::LinearConfig{.in = side, .out = side, .bias = false}.init(device));
    return model;
  }
};

double milliseconds() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void measure(const Run& run) {
  const Device device = Device::cpu();
  for (std::int64_t round = 0; round < run.rounds; ++round) {
    Model model = uninitialized(ModelConfig{run.matrices, run.side}, device);
    const double start = milliseconds();
    load(model, run.file, {.check_elements = 0});
    const double loaded = milliseconds();
    double total = 0;
    for (const nn::Linear& layer : model.layers) total += layer.weight.sum().item<double>();
    std::printf("%.3f ms loaded, %.3f ms read (%g)\n", loaded - start, milliseconds() - start, total);
  }
}

}  // namespace

int main(int argc, char** argv) { return run_main(argc, argv, measure); }

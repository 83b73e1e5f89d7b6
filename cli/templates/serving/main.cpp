// Trains a model, or loads the one that it has trained, and answers over HTTP until Ctrl-C.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <string>
#include <thread>

#include <kiln/config.hpp>
#include <kiln/kiln.hpp>
#include <kiln/net.hpp>

#include "model.hpp"
#include "service.hpp"

namespace {

using namespace kiln;

struct Run {
  std::string model = "model.safetensors";  // loaded where it exists, else made
  bool serve = true;                        // --no-serve: ends when there is a model
  std::string host = "127.0.0.1";           // 0.0.0.0: whoever can reach this machine
  int port = 8080;                          // 0: a free one, which is printed
  int steps = 300;                          // of training
};

std::atomic<bool> stopped = false;

Model load_or_learn(const Run& run, const Device& device) {
  if (std::filesystem::exists(run.model)) {
    print("loads {}\n", run.model);
    return load(run.model, ModelConfig{}.init(device));
  }
  print("there is no {}: learns from 600 rows that it draws\n", run.model);
  Model model = learned(draw_rows(600), run.steps, device);
  save(model, run.model);
  return model;
}

void start(const Run& run) {
  // Refused where others can reach it and there is no token: they send "Authorization: Bearer TOKEN".
  const std::string token = run.serve ? net::token_for(run.host, "SERVE_TOKEN") : "";
  const Device device = Device::best().autodiff();
  device.seed(1);
  const Model model = load_or_learn(run, device);
  if (!run.serve) return;

  std::signal(SIGINT, [](int) { stopped = true; });
  std::signal(SIGTERM, [](int) { stopped = true; });
  const net::Server server({.address = {run.host, run.port}, .token = token}, routes(model, device));
  print("listens at {}:{}\n", run.host, server.port());
  std::fflush(stdout);
  while (!stopped) std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

}  // namespace

int main(int argc, char** argv) { return run_main(argc, argv, start); }

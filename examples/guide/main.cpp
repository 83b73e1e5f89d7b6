// The guide: train a model to read digits, save it, and use it.
//
//   guide [train] [--data DIR] [--epochs N] [--batch-size N] [--lr X] [--seed N] [--artifacts DIR] [--device D]
//         [--resume] [--plain] [--web PORT]
//   guide infer [--artifacts DIR] [--image FILE.png | --index N] [--device D]
#include <CLI/CLI.hpp>

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>

#include "examples/guide/infer.hpp"
#include "examples/guide/train.hpp"

namespace {

guide::Device device_named(const std::string& name) {
  return name.empty() ? guide::Device::best() : guide::Device::parse(name);
}

/// A number above 0, and none that is no number.
CLI::Validator positive() {
  const auto problem = [](const std::string& said) -> std::string {
    double number = 0;
    const auto [end, error] = std::from_chars(said.data(), said.data() + said.size(), number);
    const bool is_number = error == std::errc() && end == said.data() + said.size();
    return is_number && std::isfinite(number) && number > 0 ? "" : "must be a number above 0, got " + said;
  };
  return {problem, "ABOVE 0"};
}
/// 0, 1, ... up to what 64 bits hold.
CLI::Validator whole() {
  const auto problem = [](const std::string& said) -> std::string {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(said.data(), said.data() + said.size(), number);
    const bool is_number = error == std::errc() && end == said.data() + said.size();
    return is_number ? "" : "must be a whole number from 0 on, got " + said;
  };
  return {problem, "WHOLE"};
}

}  // namespace

int main(int argc, char** argv) {
  guide::TrainOptions training;
  guide::InferOptions inference;
  std::string device;

  CLI::App app("Learns to read handwritten digits, and reads them.");
  app.require_subcommand(0, 1);
  const auto add_training = [&](CLI::App& command) {
    guide::Settings& settings = training.settings;
    command.add_option("--data", settings.data,
                       "digits (drawn by Kiln), mnist (downloaded), or a directory with MNIST's files");
    command.add_option("--epochs", settings.epochs, "how often to go through the data")
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str();
    command.add_option("--batch-size", settings.batch_size, "images a step")
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str();
    command.add_option("--lr", settings.learning_rate, "learning rate of Adam")
        ->check(positive())
        ->capture_default_str();
    command.add_option("--seed", settings.seed, "decides weights, order and dropout")
        ->check(whole())
        ->capture_default_str();
    command.add_option("--artifacts", training.artifacts, "where to save")->capture_default_str();
    command.add_option("--workers", training.workers, "threads that prepare batches")
        ->check(CLI::Range(0, 256))
        ->capture_default_str();
    command.add_flag("--plain", training.watch.plain, "lines of progress rather than a dashboard on the terminal");
    command.add_option("--web", training.watch.web, "port of a page for a browser that shows the training; 0: any");
    command.add_option("--device", device, "cpu, reference; the best one by default");
    command.add_flag("--resume", training.resume, "go on where the newest checkpoint of the artifacts is");
  };
  add_training(app);
  CLI::App* train = app.add_subcommand("train", "train and save a model (what happens without a command)");
  add_training(*train);
  CLI::App* infer = app.add_subcommand("infer", "classify one digit with a saved model");
  infer->add_option("--artifacts", inference.artifacts, "what a training saved")->capture_default_str();
  auto* image = infer->add_option("--image", inference.image, "a picture of a digit");
  infer->add_option("--index", inference.index, "an item of the test set")->excludes(image)->capture_default_str();
  infer->add_option("--device", device, "cpu, reference; the best one by default");
  CLI11_PARSE(app, argc, argv);

  for (const char* const option : {"--data", "--batch-size", "--lr", "--seed"})
    if (app.count(option) + train->count(option) > 0) training.said.insert(option);

  try {
    if (infer->parsed()) guide::infer(inference, device_named(device));
    else guide::train(training, device_named(device));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}

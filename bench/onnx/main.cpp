// Kiln's side of `./dev bench --onnx`: bench_onnx MODEL DIRECTORY, whose .npy files are the inputs, in order of their
// names. Answers each line of standard input:
//
//   SECONDS       runs the network for about so long; the samples' wall clock and processor time, in ms
//   save FOLDER   writes each output as an .npy file
//
// KILN_THREADS says on how many threads.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <filesystem>
#include <iostream>

#include "bench/clock.hpp"
#include "kiln/onnx/model.hpp"
#include "kiln/ops/backend.hpp"
#include "kiln/store/format/source.hpp"

namespace {

using namespace kiln;

constexpr std::size_t kFewest = 3, kMost = 2000;  // samples of a burst

double ms_on(clockid_t clock) { return 1e3 * bench::seconds_on(clock); }

std::vector<onnx::Datum> inputs_in(const std::string& directory) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(directory))
    if (entry.path().extension() == ".npy") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  std::vector<onnx::Datum> inputs;
  for (const std::string& file : files)
    inputs.push_back(from_data(open_tensors(file).tensors.begin()->second.read(), Device::cpu()));
  return inputs;
}

void save(const onnx::Outputs& outputs, const std::string& folder) {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    TensorSource source;
    source.tensors.emplace("array", stored(outputs[i].value().data()));
    char name[32];
    std::snprintf(name, sizeof name, "/%03zu.npy", i);
    write_tensors(source, folder + name);
  }
  std::printf("{\"saved\": %zu}\n", outputs.size());
}

int serve(const std::string& file, const std::string& directory) {
  const double began = ms_on(CLOCK_MONOTONIC);
  const onnx::Model model = onnx::load(file, Device::cpu());
  const double loaded = ms_on(CLOCK_MONOTONIC) - began;
  const std::vector<onnx::Datum> inputs = inputs_in(directory);
  const auto run = [&] {
    onnx::Outputs outputs = model.run(inputs);
    Device::cpu().sync();
    return outputs;
  };
  for (int warm_up = 0; warm_up < 3; ++warm_up) run();
  for (std::string line; std::getline(std::cin, line); std::fflush(stdout)) {
    if (line.starts_with("save ")) {
      save(run(), line.substr(5));
      continue;
    }
    run();
    std::printf("{\"load_ms\": %.3f, \"samples\": [", loaded);
    const double end = ms_on(CLOCK_MONOTONIC) + 1e3 * std::atof(line.c_str());
    for (std::size_t i = 0; i < kFewest || (ms_on(CLOCK_MONOTONIC) < end && i < kMost); ++i) {
      const double wall = ms_on(CLOCK_MONOTONIC), processor = ms_on(CLOCK_PROCESS_CPUTIME_ID);
      run();
      std::printf("%s[%.5f, %.5f]", i ? ", " : "", ms_on(CLOCK_MONOTONIC) - wall,
                  ms_on(CLOCK_PROCESS_CPUTIME_ID) - processor);
    }
    std::printf("]}\n");
  }
  return 0;
}

}  // namespace

int main(int count, char** words) {
  try {
    if (count == 3) return serve(words[1], words[2]);
    std::fprintf(stderr, "bench_onnx MODEL DIRECTORY\n");
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

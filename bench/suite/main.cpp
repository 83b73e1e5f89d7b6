// The program behind `./dev bench`: measures one workload of the suite. bench/suite.py calls it.
//
//   bench_suite --list                      the workloads, a line of JSON each
//   bench_suite [--reference] NAME SECONDS  measures for about so long and prints the samples, in ms
//   bench_suite [--reference] NAME -        the same for each line of standard input, which says for how long
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>

#include "bench/suite/workload.hpp"
#include "kiln/ops/backend.hpp"

namespace bench {

namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

}  // namespace

Sample timed(const Device& device, std::function<Values()> f) {
  return [device, f = std::move(f)] {
    const auto start = Clock::now();
    Values results = f();
    device.sync();
    results.clear();
    return ms_since(start);
  };
}

Sample timed(std::function<void()> f) {
  return [f = std::move(f)] {
    const auto start = Clock::now();
    f();
    return ms_since(start);
  };
}

Device cpu() { return Device::cpu(); }

Value normals(const Shape& shape, DType dtype, const Device& device) { return normal(shape, 0, 1, device, dtype); }

namespace {

constexpr std::size_t kFewest = 3, kMost = 2000;  // samples of a burst

std::vector<Workload> all_workloads() {
  std::vector<Workload> all;
  for (const auto& family : {matmul_workloads, elementwise_workloads, reduce_workloads, overhead_workloads,
                             attention_workloads, model_workloads})
    for (Workload& workload : family()) all.push_back(std::move(workload));
  return all;
}

void list(const std::vector<Workload>& workloads) {
  for (const Workload& w : workloads)
    std::printf("{\"name\": \"%s\", \"read\": %.0f, \"written\": %.0f, \"flops\": %.0f, \"reference\": %s}\n",
                w.name.c_str(), w.work.read, w.work.written, w.work.flops, w.reference ? "true" : "false");
}

/// One burst of samples; the first run after a pause is not one of them.
void measure(const Sample& sample, double seconds) {
  sample();
  std::vector<double> samples;
  const auto start = Clock::now();
  while (samples.size() < kFewest || (ms_since(start) < 1e3 * seconds && samples.size() < kMost))
    samples.push_back(sample());
  std::printf("{\"peak_bytes\": %lld, \"samples\": [", static_cast<long long>(cpu().backend().memory().peak));
  for (std::size_t i = 0; i < samples.size(); ++i) std::printf("%s%.6f", i ? ", " : "", samples[i]);
  std::printf("]}\n");
  std::fflush(stdout);
}

int run(const std::vector<std::string>& words) {
  const std::vector<Workload> workloads = all_workloads();
  if (words.size() == 1 && words[0] == "--list") return list(workloads), 0;
  const bool reference = !words.empty() && words[0] == "--reference";
  if (words.size() != (reference ? 3 : 2)) {
    std::fprintf(stderr, "bench_suite --list | [--reference] NAME (SECONDS | -)\n");
    return 2;
  }
  const std::string &name = words[words.size() - 2], &seconds = words.back();
  for (const Workload& workload : workloads) {
    if (workload.name != name) continue;
    const auto& make = reference ? workload.reference : workload.make;
    require<ArgumentError>(static_cast<bool>(make), "bench_suite: ", name, " has no reference");
    cpu().seed(0);
    const Sample sample = make();
    for (int warm_up = 0; warm_up < 3; ++warm_up) sample();
    if (seconds != "-") return measure(sample, std::atof(seconds.c_str())), 0;
    for (std::string line; std::getline(std::cin, line);) measure(sample, std::atof(line.c_str()));
    return 0;
  }
  fail<ArgumentError>("bench_suite: no workload is called ", name, "; --list prints those that there are");
}

}  // namespace
}  // namespace bench

int main(int count, char** words) {
  try {
    return bench::run({words + 1, words + count});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}

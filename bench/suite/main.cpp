// The program behind `./dev bench`: measures one workload of the suite. bench/suite.py calls it.
//
//   bench_suite --list                    the workloads, a line of JSON each
//   bench_suite [OPTIONS] NAME SECONDS    measures for about SECONDS and prints the samples, in ms
//   bench_suite [OPTIONS] NAME -          the same for each line of standard input, which gives the SECONDS
//     --device=cuda another device than the processor, whose workloads may be larger
//     --reference   the hand-written loop, or the library called directly, in place of Kiln
//     --busy        processor time instead of clock time, for a busy machine; with KILN_THREADS=1
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <iostream>
#include <string>

#include "bench/clock.hpp"
#include "bench/suite/workload.hpp"
#include "kiln/ops/backend.hpp"

namespace bench {

namespace {

clockid_t sample_clock = CLOCK_MONOTONIC;
Device chosen;

double ms_on(clockid_t clock) { return 1e3 * bench::seconds_on(clock); }

}  // namespace

double now_ms() { return ms_on(sample_clock); }

Sample timed(const Device& device, std::function<Values()> f) {
  return [device, f = std::move(f)] {
    // A GPU gets several runs at a time, since waiting for it takes as long as many a workload.
    const int times = on_gpu() ? 10 : 1;
    const double start = now_ms();
    for (int i = 0; i < times; ++i) {
      Values results = f();
      device.flush();
    }
    device.sync();
    return (now_ms() - start) / times;
  };
}

Sample timed(std::function<void()> f) {
  return [f = std::move(f)] {
    const double start = now_ms();
    f();
    return now_ms() - start;
  };
}

Device device() { return chosen; }
bool on_gpu() { return device().name() != Device::cpu().name(); }

Value normals(const Shape& shape, DType dtype, const Device& on) { return normal(shape, 0, 1, on, dtype); }

namespace {

constexpr std::size_t kFewest = 3, kMost = 2000;  // samples in one burst

std::vector<Workload> all_workloads() {
  std::vector<Workload> all;
  for (const auto& family : {matmul_workloads, elementwise_workloads, reduce_workloads, everyday_workloads,
                             transfer_workloads, layout_workloads, overhead_workloads, attention_workloads,
                             model_workloads, detection_workloads, decode_workloads, optimizer_workloads})
    for (Workload& workload : family()) all.push_back(std::move(workload));
  return all;
}

void list(const std::vector<Workload>& workloads) {
  for (const Workload& w : workloads)
    std::printf(
        "{\"name\": \"%s\", \"read\": %.0f, \"written\": %.0f, \"flops\": %.0f, \"bf16\": %s, \"reference\": %s}\n",
        w.name.c_str(), w.work.read, w.work.written, w.work.flops, w.work.bf16 ? "true" : "false",
        w.reference ? "true" : "false");
}

/// Measures one burst of samples. The first run after a pause is not among them.
void measure(const Sample& sample, double seconds) {
  sample();
  std::vector<double> samples;
  const double end = ms_on(CLOCK_MONOTONIC) + 1e3 * seconds;
  while (samples.size() < kFewest || (ms_on(CLOCK_MONOTONIC) < end && samples.size() < kMost))
    samples.push_back(sample());
  std::printf("{\"peak_bytes\": %lld, \"samples\": [", static_cast<long long>(device().backend().memory().peak));
  for (std::size_t i = 0; i < samples.size(); ++i) std::printf("%s%.6f", i ? ", " : "", samples[i]);
  std::printf("]}\n");
  std::fflush(stdout);
}

/// Removes the option from the words; returns whether it was there.
bool take(std::vector<std::string>& words, const std::string& option) { return std::erase(words, option) > 0; }

/// Removes --device=NAME from the words and returns that device, or the processor.
Device take_device(std::vector<std::string>& words) {
  for (const std::string& word : words)
    if (word.starts_with("--device=")) {
      const Device named = Device::parse(word.substr(9));
      std::erase(words, word);
      return named;
    }
  return Device::cpu();
}

int run(std::vector<std::string> words) {
  chosen = take_device(words);
  const std::vector<Workload> workloads = all_workloads();
  if (words.size() == 1 && words[0] == "--list") return list(workloads), 0;
  const bool reference = take(words, "--reference");
  if (take(words, "--busy")) sample_clock = CLOCK_PROCESS_CPUTIME_ID;
  if (words.size() != 2) {
    std::fprintf(stderr, "bench_suite --list | [--device=NAME] [--reference] [--busy] NAME (SECONDS | -)\n");
    return 2;
  }
  const std::string &name = words[0], &seconds = words[1];
  for (const Workload& workload : workloads) {
    if (workload.name != name) continue;
    const auto& make = reference ? workload.reference : workload.make;
    require<ArgumentError>(static_cast<bool>(make), "bench_suite: ", name, " has no reference");
    device().seed(0);
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

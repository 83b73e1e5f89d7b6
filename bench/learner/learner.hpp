// What the parts of bench_learner share.
#pragma once
#include <cstdint>
#include <cstdio>
#include <vector>

#include "bench/clock.hpp"

namespace bench {

struct Run {
  std::int64_t steps = 60, rounds = 9, batch = 64;
  std::int64_t checkpoint_mib = 1024;  // 0: none
  double page_seconds = 5;             // of the dashboards
  std::int64_t scores = 1'000'000;
};

/// Where figures go, as the standard output is the terminal.
extern std::FILE* report;

/// Goes on in a process whose terminal this one reads until it ends, and counts what is drawn there.
void onto_terminal();

double median(std::vector<double> numbers);

/// What a Learner adds to a step of the guide, without and with metrics and dashboards.
void measure_overhead(const Run& run);
/// The share of a processor that dashboards take while steps come 200 times a second, and evaluations ten times, beside what
/// waiting for those takes.
void measure_dashboards(const Run& run);

}  // namespace bench

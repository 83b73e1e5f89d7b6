// Measures what is gained by taking gradients out of Gradients (pop) rather than reading them (of): a step of plain
// gradient descent on one parameter of N numbers, where the update may then be written over the gradient. Milliseconds
// of the processor's time (the median), and the most bytes in use during a step.
//
//   bench_popped [STEPS [N]]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "bench/clock.hpp"
#include "kiln/kiln.hpp"

namespace {

using namespace kiln;

struct Cost {
  double ms = 0, peak_mib = 0;
};

Cost cost_of(bool pops, int steps, std::int64_t count) {
  const Device device = Device::cpu().autodiff();
  Tensor<1> weight = Tensor<1>::ones({count}, device).require_grad();
  const Tensor<1> x = Tensor<1>::ones({count}, device);
  std::vector<double> times;
  double peak = 0;
  for (int step = 0; step < steps; ++step) {
    device.sync();
    Gradients grads = (weight.square() * x).sum().backward();
    device.sync();
    device.reset_memory_peak();
    const double start = bench::seconds_on(CLOCK_PROCESS_CPUTIME_ID);
    {
      const NoGrad pause;
      if (pops) weight = Tensor<1>(weight.detach() - grads.pop(weight) * 0.01);
      else weight = Tensor<1>(weight.detach() - grads.of(weight) * 0.01);
    }
    weight = weight.require_grad();
    device.sync();
    times.push_back(1e3 * (bench::seconds_on(CLOCK_PROCESS_CPUTIME_ID) - start));
    peak = std::max(peak, static_cast<double>(device.memory().peak) / (1 << 20));
  }
  std::ranges::nth_element(times, times.begin() + steps / 2);
  return {times[static_cast<std::size_t>(steps) / 2], peak};
}

}  // namespace

int main(int count, char** words) {
  const int steps = count > 1 ? std::max(std::atoi(words[1]), 1) : 21;
  const std::int64_t numbers = count > 2 ? std::max<std::int64_t>(std::atoll(words[2]), 1) : std::int64_t{1} << 24;
  for (const bool pops : {false, true}) {
    const Cost cost = cost_of(pops, steps, numbers);
    std::printf("%-4s %8.2f ms, at most %7.1f MiB in use\n", pops ? "pop" : "of", cost.ms, cost.peak_mib);
  }
}

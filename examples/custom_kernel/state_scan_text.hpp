// The kernel of state_scan.hpp as CUDA C++, for float32.
#pragma once
#include "kiln/backend/gpu/custom.hpp"
#include "kiln/kiln.hpp"

struct StateScanText {
  bool backwards;

  kiln::gpu::TextKernel text() const {
    return {.name = "state_scan_text",
            .text = std::string("constexpr bool kBackwards = ") + (backwards ? "true" : "false") + ";" + kText,
            .buffers = 3,
            .numbers = 2,
            .threads = 256};
  }
  static constexpr const char* kText = R"(
extern "C" __global__ void state_scan_text(const float* a, const float* x, float* h, int time, int channels) {
  __shared__ float factors[8][32], states[8][32];
  const int lane = threadIdx.x % 32, part = threadIdx.x / 32, across = (channels + 31) / 32;
  const int channel = blockIdx.x % across * 32 + lane, begin = part * time / 8, end = (part + 1) * time / 8;
  const auto at = [&](int step) {
    return (int(blockIdx.x) / across * time + (kBackwards ? time - 1 - step : step)) * channels + channel;
  };
  float state = 0, factor = 1;
  if (channel < channels)
    for (int step = begin; step < end; ++step) {
      state = a[at(step)] * state + x[at(step)];
      factor *= a[at(step)];
    }
  factors[part][lane] = factor;
  states[part][lane] = state;
  __syncthreads();
  state = 0;
  for (int before = 0; before < part; ++before) state = factors[before][lane] * state + states[before][lane];
  if (channel < channels)
    for (int step = begin; step < end; ++step) {
      state = a[at(step)] * state + x[at(step)];
      h[at(step)] = state;
    }
}
)";
};

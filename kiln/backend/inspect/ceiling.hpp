// The best rates of the machine, measured when first needed, to compare other rates with.
#pragma once

namespace kiln {

struct Ceiling {
  double bytes_per_second;  // of a copy too large for caches; bytes read and bytes written both count
  double flops_per_second;  // of fused multiply-adds in float32; each counts as two
};

/// Uses the threads of parallel_for (num_threads()). Takes a tenth of a second the first time, nothing later.
const Ceiling& machine_ceiling();

}  // namespace kiln

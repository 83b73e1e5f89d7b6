// What the machine can do at best, measured on the spot: what rates are to be compared with.
#pragma once

namespace kiln {

struct Ceiling {
  double bytes_per_second;  // of a copy that no cache holds; bytes read and bytes written are counted
  double flops_per_second;  // of fused multiplications and additions in float32; each counts for two
};

/// With the threads that parallel_for has (num_threads()). Takes a tenth of a second the first time, nothing later.
const Ceiling& machine_ceiling();

}  // namespace kiln

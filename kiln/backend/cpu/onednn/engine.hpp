// oneDNN inside our thread pool: each of its calls runs on the calling thread, and we divide the work.
#pragma once
#include <dnnl.hpp>

#include "kiln/core/dtype.hpp"

namespace kiln::cpu::onednn {

/// While an object exists, oneDNN uses only the calling thread: its OpenMP runtime would start its own threads, and two
/// sets of spinning threads cost each other hundreds of microseconds. Every call of oneDNN must be in the scope of one.
class OneThread {
 public:
  OneThread();
  ~OneThread();
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

const dnnl::engine& engine();
/// The calling thread's own stream.
const dnnl::stream& stream();

/// Whether oneDNN has more than a reference loop for bfloat16 on this processor.
bool has_bf16();

}  // namespace kiln::cpu::onednn

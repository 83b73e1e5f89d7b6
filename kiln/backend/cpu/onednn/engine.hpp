// oneDNN inside our thread pool: every call of it runs on the thread that makes it, work is cut by us.
#pragma once
#include <dnnl.hpp>

#include "kiln/core/dtype.hpp"

namespace kiln::cpu::onednn {

/// While one lives, oneDNN uses the calling thread alone: its OpenMP runtime would start threads of its own, and
/// two sets of spinning threads cost each other hundreds of microseconds. Every call of oneDNN lies in the scope of one.
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
/// The calling thread's own.
const dnnl::stream& stream();

/// oneDNN has more than a reference loop for bfloat16 on this processor.
bool has_bf16();

}  // namespace kiln::cpu::onednn

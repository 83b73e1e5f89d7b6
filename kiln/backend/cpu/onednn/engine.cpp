#include "kiln/backend/cpu/onednn/engine.hpp"

#include <cstdlib>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

extern "C" {  // libgomp, which oneDNN links; none of its headers is needed, and clang finds another omp.h
void omp_set_num_threads(int threads);
int omp_get_max_threads();
}

namespace kiln::cpu::onednn {
namespace {

#if defined(__x86_64__)
/// Some virtual machines report AMX but hide the leaf that describes its tiles. oneDNN configures tiles from that leaf,
/// and its first bf16 product ends the program with an illegal instruction.
bool advertises_amx_without_tiles() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) return false;
  const bool amx = edx & (1u << 22 | 1u << 24 | 1u << 25);  // bf16, tile, int8
  if (!amx) return false;
  if (!__get_cpuid_count(0x1d, 1, &eax, &ebx, &ecx, &edx)) return true;
  return (eax | ebx | ecx | edx) == 0;
}
#else
bool advertises_amx_without_tiles() { return false; }
#endif

/// Must be called before any other function of oneDNN.
bool choose_instruction_set() {
  if (!std::getenv("ONEDNN_MAX_CPU_ISA") && !std::getenv("DNNL_MAX_CPU_ISA") && advertises_amx_without_tiles())
    dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx512_core_bf16);
  return true;
}

}  // namespace

OneThread::OneThread() : before_(omp_get_max_threads()) {
  [[maybe_unused]] static const bool chosen = choose_instruction_set();
  if (before_ != 1) omp_set_num_threads(1);
}

OneThread::~OneThread() {
  if (before_ != 1) omp_set_num_threads(before_);
}

const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

const dnnl::stream& stream() {
  thread_local const dnnl::stream own(engine());
  return own;
}

bool has_bf16() {
  static const bool has = [] {
    const OneThread one_thread;
    return (dnnl_get_effective_cpu_isa() & dnnl_cpu_isa_avx512_core) == dnnl_cpu_isa_avx512_core;
  }();
  return has;
}

}  // namespace kiln::cpu::onednn

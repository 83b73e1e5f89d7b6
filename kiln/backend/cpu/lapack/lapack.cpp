#include "kiln/backend/cpu/lapack/lapack.hpp"

#include <cstdlib>
#include <string_view>

#include "kiln/backend/cpu/family.hpp"
#include "kiln/backend/cpu/lapack/batch.hpp"

// OpenBLAS's, where that is the library.
extern "C" void openblas_set_num_threads(int threads) __attribute__((weak));
extern "C" int openblas_get_parallel() __attribute__((weak));
extern "C" char* openblas_get_corename() __attribute__((weak));
extern "C" void gotoblas_dynamic_quit() __attribute__((weak));
extern "C" void gotoblas_dynamic_init() __attribute__((weak));

namespace kiln::cpu {
namespace {

#if defined(__x86_64__)
/// OpenBLAS goes by the names of processors, and takes one that it does not know for the oldest of all, whose kernels are
/// two to four times slower than those for vectors of 32 bytes. (Those for 64 bytes gain a third in large matrices, and take
/// three times as long in small ones.) Must come before anything else of OpenBLAS, unless the environment says what it is
/// to take.
void choose_kernels() {
  constexpr const char *kVariable = "OPENBLAS_CORETYPE", *kOldest = "Prescott", *kBest = "Haswell";
  if (!openblas_get_corename || !gotoblas_dynamic_quit || !gotoblas_dynamic_init || std::getenv(kVariable)) return;
  if (std::string_view(openblas_get_corename()) != kOldest) return;
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) return;
  setenv(kVariable, kBest, 0);
  gotoblas_dynamic_quit();
  gotoblas_dynamic_init();
  unsetenv(kVariable);
}
#else
void choose_kernels() {}
#endif

}  // namespace

std::unique_lock<std::mutex> lapack::turn() {
  static std::mutex mutex;
  static const bool sequential = openblas_get_parallel && openblas_get_parallel() == 0;
  return sequential ? std::unique_lock(mutex) : std::unique_lock(mutex, std::defer_lock);
}

FastKernels lapack_kernels() {
  choose_kernels();
  if (openblas_set_num_threads) openblas_set_num_threads(1);  // they would compete with Kiln's
  return family([](const auto& op, Call call) { return lapack::run(op, call); });
}

}  // namespace kiln::cpu

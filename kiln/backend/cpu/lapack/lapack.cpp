#include "kiln/backend/cpu/lapack/lapack.hpp"

#include "kiln/backend/cpu/family.hpp"
#include "kiln/backend/cpu/lapack/batch.hpp"

// Functions of OpenBLAS; null with another library.
extern "C" void openblas_set_num_threads(int threads) __attribute__((weak));
extern "C" int openblas_get_parallel() __attribute__((weak));
extern "C" int blas_thread_shutdown_() __attribute__((weak));

namespace kiln::cpu {
namespace {

// OpenBLAS's threads would compete with Kiln's. When it is loaded it starts one for each processor, and these poll for
// work for a tenth of a second. They are ended before main(), when nothing can be waiting for them.
[[maybe_unused]] const int kIsAlone = [] {
  if (openblas_set_num_threads) openblas_set_num_threads(1);
  return blas_thread_shutdown_ ? blas_thread_shutdown_() : 0;
}();

}  // namespace

std::unique_lock<std::mutex> lapack::lock_routines() {
  static std::mutex mutex;
  static const bool sequential = openblas_get_parallel && openblas_get_parallel() == 0;
  return sequential ? std::unique_lock(mutex) : std::unique_lock(mutex, std::defer_lock);
}

FastKernels lapack_kernels() {
  return family([](const auto& op, Call call) -> decltype(lapack::run(op, call)) { return lapack::run(op, call); });
}

}  // namespace kiln::cpu

#include "kiln/backend/cpu/lapack/lapack.hpp"

#include "kiln/backend/cpu/family.hpp"
#include "kiln/backend/cpu/lapack/batch.hpp"

// OpenBLAS's, where that is the library.
extern "C" void openblas_set_num_threads(int threads) __attribute__((weak));
extern "C" int openblas_get_parallel() __attribute__((weak));
extern "C" int blas_thread_shutdown_() __attribute__((weak));

namespace kiln::cpu {

std::unique_lock<std::mutex> lapack::turn() {
  static std::mutex mutex;
  static const bool sequential = openblas_get_parallel && openblas_get_parallel() == 0;
  return sequential ? std::unique_lock(mutex) : std::unique_lock(mutex, std::defer_lock);
}

FastKernels lapack_kernels() {
  // Its threads would compete with Kiln's: it starts one for each processor as it is loaded, and these look for work without
  // a pause for a tenth of a second.
  if (openblas_set_num_threads) openblas_set_num_threads(1);
  if (blas_thread_shutdown_) blas_thread_shutdown_();
  return family([](const auto& op, Call call) { return lapack::run(op, call); });
}

}  // namespace kiln::cpu

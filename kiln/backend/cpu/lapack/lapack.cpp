#include "kiln/backend/cpu/lapack/lapack.hpp"

#include "kiln/backend/cpu/family.hpp"
#include "kiln/backend/cpu/lapack/batch.hpp"

// OpenBLAS's, where that is the library.
extern "C" void openblas_set_num_threads(int threads) __attribute__((weak));
extern "C" int openblas_get_parallel() __attribute__((weak));
extern "C" int blas_thread_shutdown_() __attribute__((weak));

namespace kiln::cpu {
namespace {

// As it is loaded it starts a thread for each processor, and these look for work without a pause for a tenth of a second,
// beside Kiln's. They are ended before main(): nobody can be waiting for them yet, and who wants them has them started anew.
[[maybe_unused]] const int kEnded = blas_thread_shutdown_ ? blas_thread_shutdown_() : 0;

}  // namespace

std::unique_lock<std::mutex> lapack::turn() {
  static std::mutex mutex;
  static const bool sequential = openblas_get_parallel && openblas_get_parallel() == 0;
  return sequential ? std::unique_lock(mutex) : std::unique_lock(mutex, std::defer_lock);
}

FastKernels lapack_kernels() {
  if (openblas_set_num_threads) openblas_set_num_threads(1);  // they would compete with Kiln's
  return family([](const auto& op, Call call) { return lapack::run(op, call); });
}

}  // namespace kiln::cpu

// Batches of row-major matrices, divided among the threads.
#pragma once
#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <mutex>
#include <vector>

#include "kiln/backend/cpu/matrix_batch.hpp"
#include "kiln/core/parallel.hpp"

namespace kiln::cpu::lapack {

/// Whether LAPACK, which counts in int, can count its workspace, which grows as the square of the size.
inline bool fits_int(const Shape& shape) { return std::max(op::rows_of(shape), op::columns_of(shape)) <= 20000; }

inline std::int64_t count_of_matrices(const Shape& shape) { return kiln::numel(op::batch_of(shape)); }

/// Returns a lock to hold while routines run. It excludes other threads only if the library is an OpenBLAS that was
/// built without threads: its callers share the memory in which it works.
std::unique_lock<std::mutex> lock_routines();

/// Calls body(begin, end) for chunks of a batch; each matrix takes about `operations` operations.
template <class Body>
void each_chunk(std::int64_t count, double operations, Body&& body) {
  parallel_for(count, matrices_per_chunk(operations), [&](std::int64_t begin, std::int64_t end) {
    const auto lock = lock_routines();
    body(begin, end);
  });
}

/// Returns the workspace size from the element in which a routine gives it: a float may have been rounded down.
template <class T>
int workspace_size(T answer) {
  return static_cast<int>(std::nextafter(answer, std::numeric_limits<T>::max())) + 1;
}

}  // namespace kiln::cpu::lapack

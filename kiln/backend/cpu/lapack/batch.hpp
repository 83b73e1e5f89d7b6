// Batches of row-major matrices, shared among the threads.
#pragma once
#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <mutex>
#include <vector>

#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/backend/cpu/matrix_batch.hpp"
#include "kiln/backend/cpu/rows.hpp"
#include "kiln/core/parallel.hpp"
#include "kiln/ops/linalg/matrix.hpp"

namespace kiln::cpu::lapack {

/// LAPACK counts in int, and what it works with grows as the square of the size.
inline bool countable(const Shape& shape) { return std::max(op::rows_of(shape), op::columns_of(shape)) <= 20000; }

inline std::int64_t count_of_matrices(const Shape& shape) { return kiln::numel(op::batch_of(shape)); }

/// Held while routines run. It excludes other threads only where the library is an OpenBLAS that was built without
/// threads: the memory that such a one works in is nobody's in particular.
std::unique_lock<std::mutex> turn();

/// Calls body(begin, end) for parts of a batch; each matrix takes about `operations`.
template <class Body>
void each_part(std::int64_t count, double operations, Body&& body) {
  parallel_for(count, matrices_of_a_piece(operations), [&](std::int64_t begin, std::int64_t end) {
    const auto held = turn();
    body(begin, end);
  });
}

/// The result `value` in row-major order, filled with the elements of `from`.
inline Array copied(const Value& from, Value& value) {
  const Array result = allocate(value);
  copy(read(from), result);
  return result;
}

/// What a routine asks for in its first element of work when its size is -1: a float may have rounded it down.
template <class T>
int asked_for(T answer) {
  return static_cast<int>(std::nextafter(answer, std::numeric_limits<T>::max())) + 1;
}

}  // namespace kiln::cpu::lapack

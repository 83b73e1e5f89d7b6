#include <algorithm>

#include "kiln/backend/cpu/lapack/batch.hpp"
#include "kiln/backend/cpu/lapack/lapack.hpp"
#include "kiln/backend/cpu/lapack/routines.hpp"
#include "kiln/backend/cpu/orientation.hpp"

namespace kiln::cpu::lapack {

// By columns, a is aᵀ, and its factorisation l q is that of a into qᵀ lᵀ, in place.
bool run(const op::Qr& op, Call call) {
  const Shape& shape = call.in[0].shape();
  if (!countable(shape)) return false;
  const Array q = allocate(call.out[op::Qr::q]), r = allocate(call.out[op::Qr::r]);
  Value held;
  const Array a = read_contiguous(call.in[0], held);
  const int m = static_cast<int>(op::rows_of(shape)), n = static_cast<int>(op::columns_of(shape));
  const int k = std::min(m, n), width = op.complete ? m : k;  // of q
  if (m == 0) return true;
  visit_real(q.dtype, [&]<class T>(TypeTag<T>) {
    each_part(count_of_matrices(shape), cube(std::max(m, n)), [&](std::int64_t begin, std::int64_t end) {
      const int size = 64 * std::max(n, width);  // LAPACK works in blocks of up to 64
      std::vector<T> reflectors(static_cast<std::size_t>(std::int64_t{m} * n)), tau(static_cast<std::size_t>(k));
      std::vector<T> work(static_cast<std::size_t>(size));
      for (std::int64_t i = begin; i < end; ++i) {
        int info = 0;
        T *to_q = q.as<T>() + i * m * width, *to_r = r.as<T>() + i * width * n;
        std::copy_n(a.as<T>() + i * m * n, reflectors.size(), reflectors.data());
        if (k > 0) Routines<T>::gelqf(&n, &m, reflectors.data(), &n, tau.data(), work.data(), &size, &info);
        // r is the part on and above the diagonal; what is left of it are the reflectors that make q.
        for (std::int64_t row = 0; row < m; ++row) {
          const T* from = reflectors.data() + row * n;
          for (std::int64_t column = 0; column < n && row < width; ++column)
            to_r[row * n + column] = row <= column ? from[column] : T{0};
          for (std::int64_t column = 0; column < width; ++column)
            to_q[row * width + column] = column < n ? from[column] : T{0};
        }
        if (width > 0) Routines<T>::orglq(&width, &m, &k, to_q, &width, tau.data(), work.data(), &size, &info);
        for (int j = 0; j < k; ++j) {
          T* diagonal = to_r + j * std::int64_t{n} + j;
          if (!(*diagonal < 0)) continue;
          negate(diagonal, n - j, 1);
          negate(to_q + j, m, width);
        }
      }
    });
  });
  return true;
}

}  // namespace kiln::cpu::lapack

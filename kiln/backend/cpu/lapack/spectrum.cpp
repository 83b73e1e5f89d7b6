#include <algorithm>
#include <numeric>

#include "kiln/backend/cpu/lapack/batch.hpp"
#include "kiln/backend/cpu/lapack/lapack.hpp"
#include "kiln/backend/cpu/lapack/routines.hpp"
#include "kiln/backend/cpu/orientation.hpp"

namespace kiln::cpu::lapack {
namespace {

template <class T>
void transpose(T* a, int n) {
  for (int i = 0; i < n; ++i)
    for (int j = 0; j < i; ++j) std::swap(a[i * std::int64_t{n} + j], a[j * std::int64_t{n} + i]);
}

}  // namespace

bool run(const op::Eigh& op, Call call) {
  const Value& operand = call.in[0];
  const Shape& shape = operand.shape();
  if (!fits_int(shape)) return false;
  const Array w = allocate(call.out[op::Eigh::w]);
  Value held(make_ref<Node>(operand.node()->desc, operand.device()));
  const Array v = copied(operand, op.vectors ? call.out[op::Eigh::v] : held);
  const int n = static_cast<int>(shape.back());
  if (n == 0) return true;
  visit_real(v.dtype, [&]<class T>(TypeTag<T>) {
    each_chunk(count_of_matrices(shape), 10 * cube(n), [&](std::int64_t begin, std::int64_t end) {
      const char* job = op.vectors ? "V" : "N";
      int size = -1, integer_size = -1, info = 0, integer_asked = 0;
      T asked = 0;
      T *a = v.as<T>(), *values = w.as<T>();
      Routines<T>::syevd(job, "U", &n, a, &n, values, &asked, &size, &integer_asked, &integer_size, &info, 1, 1);
      size = workspace_size(asked);
      integer_size = integer_asked;
      std::vector<T> work(static_cast<std::size_t>(size));
      std::vector<int> integers(static_cast<std::size_t>(integer_size));
      const std::int64_t area = std::int64_t{n} * n;
      for (std::int64_t i = begin; i < end; ++i) {
        T* vectors = a + i * area;
        require_finite("eigh", vectors, area, operand, i);
        Routines<T>::syevd(job, "U", &n, vectors, &n, values + i * n, work.data(), &size, integers.data(),
                           &integer_size, &info, 1, 1);
        require_converged("eigh", info == 0, operand, i);
        if (!op.vectors) continue;
        for (int k = 0; k < n; ++k)
          if (T* vector = vectors + k * std::int64_t{n}; points_backwards(vector, n, 1)) negate(vector, n, 1);
        transpose(vectors, n);
      }
    });
  });
  return true;
}

// Read by columns, a is aᵀ = vtᵀ s uᵀ: LAPACK's left vectors are the rows of vt, its right ones the columns of u.
bool run(const op::Svd& op, Call call) {
  const Value& operand = call.in[0];
  const Shape& shape = operand.shape();
  if (!fits_int(shape)) return false;
  const bool vectors = op.form != op::SvdForm::Values;
  const int m = static_cast<int>(op::rows_of(shape)), n = static_cast<int>(op::columns_of(shape)), k = std::min(m, n);
  if (k == 0) return false;  // the reference computes the vectors of an empty matrix
  const Array s = allocate(call.out[vectors ? op::Svd::s : 0]);
  Array u, vt;
  if (vectors) u = allocate(call.out[op::Svd::u]), vt = allocate(call.out[op::Svd::vt]);
  Value held(make_ref<Node>(operand.node()->desc, operand.device()));
  const Array a = copied(operand, held);
  const bool full = op.form == op::SvdForm::Full;
  const int width = full ? m : k, height = full ? n : k;  // of u, of vt
  visit_real(a.dtype, [&]<class T>(TypeTag<T>) {
    each_chunk(count_of_matrices(shape), 20 * cube(std::max(m, n)), [&](std::int64_t begin, std::int64_t end) {
      const char* job = !vectors ? "N" : full ? "A" : "S";
      int size = -1, info = 0;
      T asked = 0, none = 0;
      std::vector<int> integers(static_cast<std::size_t>(8 * k));
      const auto decompose = [&](T* work, std::int64_t i) {
        T* left = vectors ? vt.as<T>() + i * height * n : &none;
        T* right = vectors ? u.as<T>() + i * m * width : &none;
        Routines<T>::gesdd(job, &n, &m, a.as<T>() + i * m * n, &n, s.as<T>() + i * k, left, &n, right, &width, work,
                           &size, integers.data(), &info, 1);
      };
      if (begin < end) decompose(&asked, begin);
      size = workspace_size(asked);
      std::vector<T> work(static_cast<std::size_t>(size));
      for (std::int64_t i = begin; i < end; ++i) {
        require_finite("svd", a.as<T>() + i * m * n, std::int64_t{m} * n, operand, i);
        decompose(work.data(), i);
        require_converged("svd", info == 0, operand, i);
        if (!vectors) continue;
        T *left = u.as<T>() + i * m * width, *right = vt.as<T>() + i * height * n;
        for (int j = 0; j < k; ++j) {
          if (!points_backwards(left + j, m, width)) continue;
          negate(left + j, m, width);
          negate(right + j * std::int64_t{n}, n, 1);
        }
      }
    });
  });
  return true;
}

}  // namespace kiln::cpu::lapack

// Factors, eigenvalues and singular values of many small matrices, one matrix in each lane. Other matrices are left to
// LAPACK or to the reference backend.
#include <array>
#include <cmath>
#include <numeric>

#include "kiln/backend/cpu/orientation.hpp"
#include "kiln/backend/cpu/simd/linalg/lanes.hpp"
#include "kiln/backend/cpu/simd/simd.hpp"
#include "kiln/ops/linalg/factor_ops.hpp"
#include "kiln/ops/linalg/spectrum_ops.hpp"

namespace kiln::cpu::simd {
namespace {

using std::int64_t;

/// The matrices of an operand. Square ones may be column-major in memory; they are transposed in lanes, where that only
/// swaps whole vectors.
template <class T>
class LaneOperand {
 public:
  explicit LaneOperand(const Value& value)
      : m_(op::rows_of(value.shape())),
        n_(op::columns_of(value.shape())),
        by_columns_(m_ == n_ && lies_by_columns(value)) {
    data_ = (by_columns_ ? read(value) : read_contiguous(value, held_)).template as<T>();
  }
  const T* matrix(int64_t i) const { return data_ + i * m_ * n_; }
  void enter(int64_t first, int64_t some, T* lanes) const {
    enter_lanes(matrix(first), some, m_ * n_, lanes);
    if (!by_columns_) return;
    const int64_t width = matrix_lanes<T>().width;
    for (int64_t i = 0; i < n_; ++i)
      for (int64_t j = 0; j < i; ++j) {
        T *const below = lanes + (i * n_ + j) * width, *const above = lanes + (j * n_ + i) * width;
        std::swap_ranges(below, below + width, above);
      }
  }

 private:
  static bool lies_by_columns(const Value& value) {
    Dims strides = contiguous_strides(value.shape());
    std::swap(strides[strides.size() - 1], strides[strides.size() - 2]);
    return has_strides(read(value), strides);
  }

  const int64_t m_, n_;
  const bool by_columns_;
  const T* data_;
  Value held_;
};

/// Calls f<T>() if the matrices are computed in lanes (fits_lanes). Returns whether they are.
template <class F>
bool in_lanes(const Value& matrices, F&& f) {
  const auto run = [&]<class T>() {
    if (!fits_lanes<T>(matrices.shape())) return false;
    f.template operator()<T>();
    return true;
  };
  return matrices.dtype() == DType::F64 ? run.template operator()<double>() : run.template operator()<float>();
}

void require_converged_group(std::string_view name, bool converged, int64_t first, const Value& operand) {
  if (!converged)
    fail<ArgumentError>(name, ": ", op::matrix_name(operand, first),
                        " or one behind it: the iteration did not converge");
}

/// Returns the integers [0, count), sorted by key(integer).
template <class Key>
std::array<int64_t, 16> ordered(int64_t count, Key key) {
  std::array<int64_t, 16> order{};
  std::iota(order.begin(), order.end(), int64_t{0});
  std::sort(order.begin(), order.begin() + count,
            [&](int64_t a, int64_t b) { return key(a) < key(b) || (key(a) == key(b) && a < b); });
  return order;
}

}  // namespace

bool factor_cholesky_in_lanes(Call call) {
  return in_lanes(call.in[0], [&]<class T>() {
    const Shape& shape = call.in[0].shape();
    T* const l = allocate(call.out[0]).as<T>();
    const LaneOperand<T> a(call.in[0]);
    const int64_t n = shape.back(), area = n * n;
    each_group<T>(shape, cube(n), area, [&](int64_t first, int64_t some, T* workspace) {
      a.enter(first, some, workspace);
      matrix_lanes<T>().factor_cholesky(workspace, n);
      const T* const ends = workspace + (area - 1) * matrix_lanes<T>().width;
      for (int64_t lane = 0; lane < some; ++lane)
        if (std::isnan(ends[lane]))
          fail<ArgumentError>("cholesky: ", op::matrix_name(call.in[0], first + lane), " is not positive definite");
      leave_lanes(workspace, some, area, l + first * area);
    });
  });
}

bool factor_qr_in_lanes(const op::Qr& op, Call call) {
  return in_lanes(call.in[0], [&]<class T>() {
    const Shape& shape = call.in[0].shape();
    const Array q = allocate(call.out[op::Qr::q]), r = allocate(call.out[op::Qr::r]);
    const LaneOperand<T> a(call.in[0]);
    const int64_t m = op::rows_of(shape), n = op::columns_of(shape), k = std::min(m, n), columns = op.complete ? m : k;
    const int64_t width = matrix_lanes<T>().width;
    each_group<T>(shape, 4 * cube(std::max(m, n)), m * n + m * columns + k,
                  [&](int64_t first, int64_t some, T* workspace) {
                    T* const made = workspace + m * n * width;
                    a.enter(first, some, workspace);
                    matrix_lanes<T>().factor_qr(workspace, made, m, n, columns);
                    leave_lanes(made, some, m * columns, q.as<T>() + first * m * columns);
                    leave_lanes(workspace, some, columns * n, r.as<T>() + first * columns * n);
                  });
  });
}

bool run(const op::Eigh& op, Call call) {
  return in_lanes(call.in[0], [&]<class T>() {
    const Value& operand = call.in[0];
    T* const values = allocate(call.out[op::Eigh::w]).as<T>();
    T* const vectors = op.vectors ? allocate(call.out[op::Eigh::v]).as<T>() : nullptr;
    const LaneOperand<T> a(operand);
    const int64_t n = operand.shape().back(), area = n * n, width = matrix_lanes<T>().width;
    each_group<T>(operand.shape(), 50 * cube(n), 2 * area, [&](int64_t first, int64_t some, T* workspace) {
      for (int64_t i = first; i < first + some; ++i) require_finite("eigh", a.matrix(i), area, operand, i);
      T* const transposed = vectors ? workspace + area * width : nullptr;
      a.enter(first, some, workspace);
      require_converged_group("eigh", matrix_lanes<T>().diagonalize(workspace, transposed, n), first, operand);
      for (int64_t lane = 0; lane < some; ++lane) {
        const auto value = [&](int64_t i) { return workspace[(i * n + i) * width + lane]; };
        const auto order = ordered(n, value);
        for (int64_t j = 0; j < n; ++j) {
          const int64_t from = order[static_cast<std::size_t>(j)];
          values[(first + lane) * n + j] = value(from);
          if (!vectors) continue;
          T* const vector = transposed + from * n * width + lane;
          const T sign = points_backwards(vector, n, width) ? T{-1} : T{1};
          for (int64_t i = 0; i < n; ++i) vectors[(first + lane) * area + i * n + j] = sign * vector[i * width];
        }
      }
    });
  });
}

bool run(const op::Svd& op, Call call) {
  if (op.form != op::SvdForm::Values) return false;
  return in_lanes(call.in[0], [&]<class T>() {
    const Value& operand = call.in[0];
    T* const values = allocate(call.out[0]).as<T>();
    const LaneOperand<T> a(operand);
    const int64_t m = op::rows_of(operand.shape()), n = op::columns_of(operand.shape()), k = std::min(m, n),
                  area = m * n, width = matrix_lanes<T>().width;
    each_group<T>(operand.shape(), 50 * cube(std::max(m, n)), area + k, [&](int64_t first, int64_t some, T* workspace) {
      for (int64_t i = first; i < first + some; ++i) require_finite("svd", a.matrix(i), area, operand, i);
      T* const lengths = workspace + area * width;
      a.enter(first, some, workspace);
      const bool rows = m <= n;  // whether rows or columns are made orthogonal
      require_converged_group(
          "svd", matrix_lanes<T>().orthogonalize(workspace, lengths, k, rows ? n : 1, rows ? n : m, rows ? 1 : n),
          first, operand);
      for (int64_t lane = 0; lane < some; ++lane) {
        const auto order = ordered(k, [&](int64_t i) { return -lengths[i * width + lane]; });
        for (int64_t j = 0; j < k; ++j)
          values[(first + lane) * k + j] = lengths[order[static_cast<std::size_t>(j)] * width + lane];
      }
    });
  });
}

}  // namespace kiln::cpu::simd

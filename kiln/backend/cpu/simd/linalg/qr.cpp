// QR factors by Householder reflections. Plain loops (blocks.cpp) factor a panel of columns. The reflections of a panel
// are then applied to the columns on its right as one product, 1 - v t vᵀ (Schreiber and Van Loan, 1989).
#include <algorithm>
#include <vector>

#include "kiln/backend/cpu/simd/linalg/lanes.hpp"
#include "kiln/backend/cpu/simd/linalg/triangles.hpp"
#include "kiln/backend/cpu/simd/product/dots.hpp"
#include "kiln/backend/cpu/simd/simd.hpp"
#include "kiln/ops/linalg/factor_ops.hpp"

namespace kiln::cpu::simd {
namespace {

using std::int64_t;

template <class T>
class Reflections {
 public:
  /// Holds the reflections of matrices of m rows, which take k of them each.
  Reflections(int64_t m, int64_t k)
      : memory_(make_ref<Memory>(static_cast<std::size_t>((m + kPanelColumns) * k) * sizeof(T))),
        v_(reinterpret_cast<T*>(memory_->bytes())),
        t_(v_ + m * k) {}

  /// a [m, n] := r, q [m, columns], both row-major.
  void factor(T* a, T* q, int64_t m, int64_t n, int64_t columns) {
    const int64_t k = std::min(m, n);
    for (int64_t j = 0; j < k; j += kPanelColumns) {
      const Panel panel = panel_at(j, m, k);
      factor(panel, a + j * n + j, n);
      apply(panel, true, a + j * n + j + panel.width, n, n - j - panel.width);
    }
    std::fill_n(q, m * columns, T{0});
    for (int64_t i = 0; i < columns; ++i) q[i * columns + i] = 1;
    for (int64_t j = (k + kPanelColumns - 1) / kPanelColumns * kPanelColumns; (j -= kPanelColumns) >= 0;)
      apply(panel_at(j, m, k), false, q + j * columns + j, columns, columns - j);
    make_diagonal_positive(a, q, m, n, columns);
  }

 private:
  /// The reflections of a panel, which change the last `height` rows: v [height, width] is column-major, and t, of
  /// [width, width], is upper triangular.
  struct Panel {
    T *v, *t;
    int64_t height, width;
  };
  Panel panel_at(int64_t j, int64_t m, int64_t k) {
    return {v_ + j * m, t_ + j * kPanelColumns, m - j, std::min(kPanelColumns, k - j)};
  }

  void factor(const Panel& p, T* a, int64_t a_row) {
    tiles_.transpose(a, a_row, p.v, p.height, p.height, p.width);
    T scales[kPanelColumns];
    matrix_blocks<T>().factor_qr(p.v, p.height, p.height, p.width, scales);
    for (int64_t i = 0; i < p.height; ++i)
      for (int64_t j = 0; j < p.width; ++j) a[i * a_row + j] = i <= j ? p.v[j * p.height + i] : T{0};
    for (int64_t j = 0; j < p.width; ++j) {
      std::fill_n(p.v + j * p.height, j, T{0});
      p.v[j * p.height + j] = 1;
    }
    // Column j of t is -scale t vᵀ v_j, where t and v are those of the reflections before j; `common` is vᵀ v.
    T* const common = workspace(made_, p.width * p.width);
    dots<T>()(p.v, p.height, p.v, p.height, common, p.width, 1, p.width, p.width, p.height, true);
    std::fill_n(p.t, p.width * p.width, T{0});
    for (int64_t j = 0; j < p.width; ++j) {
      for (int64_t i = 0; i < j; ++i) {
        T sum = 0;
        for (int64_t l = i; l < j; ++l) sum += p.t[i * p.width + l] * common[l * p.width + j];
        p.t[i * p.width + j] = -scales[j] * sum;
      }
      p.t[j * p.width + j] = scales[j];
    }
  }

  /// x [height, columns] := (1 - v t vᵀ) x, or with tᵀ in the place of t if `backwards`.
  void apply(const Panel& p, bool backwards, T* x, int64_t x_row, int64_t columns) {
    if (columns == 0) return;
    T *const made = workspace(made_, 2 * p.width * columns), *const mixed = made + p.width * columns;
    multiply({p.v, p.height, 1, 0}, {x, x_row, 1}, made, columns, p.width, columns, p.height, false);
    T mix[kPanelColumns * kPanelColumns];
    for (int64_t i = 0; i < p.width; ++i)
      for (int64_t j = 0; j < p.width; ++j) mix[i * p.width + j] = -p.t[backwards ? j * p.width + i : i * p.width + j];
    multiply({mix, p.width, 1, 0}, {made, columns, 1}, mixed, columns, p.width, columns, p.width, false);
    multiply({p.v, 1, p.height, 0}, {mixed, columns, 1}, x, x_row, p.height, columns, p.width, true);
  }

  void multiply(LeftOperand<T> a, const RightOperand<T>& b, T* c, int64_t c_row, int64_t m, int64_t n, int64_t k,
                bool add) {
    const int64_t rows = rows_of_tile(m, tiles_.rows);
    a.tile = a.row * rows;
    if (a.column != 1) {
      T* const packed = workspace(packed_, (m + rows) * k);
      tiles_.pack_left(a.data, a.column, m, k, packed);
      a = {packed, 1, rows, rows * k};
    }
    tiles_.multiply(a, b, {c, c_row, c, c_row}, m, n, k, add, workspace(scratch_, tiles_.panel * k));
  }

  /// Changes the signs of rows of r and of columns of q so that the diagonal of r is not negative.
  void make_diagonal_positive(T* r, T* q, int64_t m, int64_t n, int64_t columns) {
    T* const signs = workspace(made_, columns);
    for (int64_t j = 0; j < columns; ++j) {
      signs[j] = j < n && r[j * n + j] < 0 ? T{-1} : T{1};
      for (int64_t c = j; c < n; ++c) r[j * n + c] *= signs[j];
    }
    for (int64_t i = 0; i < m; ++i)
      for (int64_t j = 0; j < columns; ++j) q[i * columns + j] *= signs[j];
  }

  static T* workspace(std::vector<T>& numbers, int64_t count) {
    if (static_cast<int64_t>(numbers.size()) < count) numbers.resize(static_cast<std::size_t>(count));
    return numbers.data();
  }

  const ProductTiles<T>& tiles_ = product_tiles<T>();
  const Ref<Memory> memory_;
  T *const v_, *const t_;
  std::vector<T> made_, packed_, scratch_;
};

}  // namespace

bool run(const op::Qr& op, Call call) {
  if (factor_qr_in_lanes(op, call)) return true;
  const Shape& shape = call.in[0].shape();
  const Array q = allocate(call.out[op::Qr::q]), r = allocate(call.out[op::Qr::r]);
  Value held;
  const Array a = read_contiguous(call.in[0], held);
  const int64_t m = op::rows_of(shape), n = op::columns_of(shape), columns = op.complete ? m : std::min(m, n);
  if (m == 0 || columns == 0) return true;
  visit_real(q.dtype, [&]<class T>(TypeTag<T>) {
    each_part<T>(shape, 4 * cube(std::max(m, n)), [&](int64_t begin, int64_t end, Triangles<T>&) {
      Reflections<T> reflections(m, std::min(m, n));
      std::vector<T> tall(static_cast<std::size_t>(columns < m ? m * n : 0));
      for (int64_t i = begin; i < end; ++i) {
        T *const to = r.as<T>() + i * columns * n, *const matrix = columns < m ? tall.data() : to;
        std::copy_n(a.as<T>() + i * m * n, m * n, matrix);
        reflections.factor(matrix, q.as<T>() + i * m * columns, m, n, columns);
        if (matrix != to) std::copy_n(matrix, columns * n, to);
      }
    });
  });
  return true;
}

}  // namespace kiln::cpu::simd

#include "kiln/backend/cpu/simd/linalg/lanes.hpp"

#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kiln/backend/cpu/simd/linalg/lanes.cpp"
#include "kiln/backend/cpu/simd/targets.hpp"
#include <hwy/foreach_target.h>

#include "kiln/backend/cpu/simd/vector.hpp"

HWY_BEFORE_NAMESPACE();
namespace kiln::cpu::simd::HWY_NAMESPACE {
namespace {

using std::int64_t;

template <class T> constexpr int64_t kWidth = static_cast<int64_t>(kLanes<T>);
template <class T> constexpr T kEpsilon = std::numeric_limits<T>::epsilon();
constexpr int kSweeps = 60;  // the limit; a dozen are enough

template <class T> HWY_INLINE Vector<T> root(Vector<T> x) { return hn::Sqrt(x.lanes); }
template <class T> HWY_INLINE Vector<T> size(Vector<T> x) { return hn::Abs(x.lanes); }
template <class T> HWY_INLINE Vector<T> with_sign(Vector<T> x, Vector<T> y) { return hn::CopySign(x.lanes, y.lanes); }
/// z - x * y
template <class T> HWY_INLINE Vector<T> less(Vector<T> z, Vector<T> x, Vector<T> y) {
  return hn::NegMulAdd(x.lanes, y.lanes, z.lanes);
}
template <class T> HWY_INLINE Vector<T> at(const T* lanes, int64_t i) { return Vector<T>::load(lanes + i * kWidth<T>); }
template <class T> HWY_INLINE void put(Vector<T> x, T* lanes, int64_t i) { store(x, lanes + i * kWidth<T>); }

/// The power of two at or below x, limited to those whose inverse is a normal number. Dividing numbers by that of the
/// largest one rounds nothing, and their squares do not overflow.
template <class T>
HWY_INLINE Vector<T> power_near(Vector<T> x) {
  constexpr T kLeast = std::numeric_limits<T>::min(), kMost = 1 / kLeast;
  const typename Vector<T>::Tag tag;
  return hn::And(clamp(x, Vector<T>(kLeast), Vector<T>(kMost)).lanes, hn::Inf(tag));
}

// ---- factors --------------------------------------------------------------------------------------------------------

template <class T>
void factor_cholesky(T* a, int64_t n) {
  for (int64_t j = 0; j < n; ++j) {
    Vector<T> diagonal(0);
    for (int64_t i = j; i < n; ++i) {
      Vector<T> rest = at(a, i * n + j);
      for (int64_t k = 0; k < j; ++k) rest = less(rest, at(a, i * n + k), at(a, j * n + k));
      if (i == j) diagonal = root(select(rest > 0, rest, Vector<T>(std::numeric_limits<T>::quiet_NaN())));
      put(i == j ? diagonal : rest / diagonal, a, i * n + j);
    }
    for (int64_t i = 0; i < j; ++i) put(Vector<T>(0), a, i * n + j);
  }
}

/// x [m, n] := (1 - scale v vᵀ) x. v begins with a 1, which is not stored; its other elements are read from v, v_step
/// vectors apart.
template <class T>
HWY_INLINE void reflect(Vector<T> scale, const T* v, int64_t v_step, T* x, int64_t step, int64_t m, int64_t n) {
  for (int64_t c = 0; c < n; ++c) {
    Vector<T> dot = at(x, c);
    for (int64_t i = 1; i < m; ++i) dot = fma(at(v, i * v_step), at(x, i * step + c), dot);
    dot = dot * scale;
    put(at(x, c) - dot, x, c);
    for (int64_t i = 1; i < m; ++i) put(less(at(x, i * step + c), at(v, i * v_step), dot), x, i * step + c);
  }
}

template <class T>
void factor_qr(T* a, T* q, int64_t m, int64_t n, int64_t columns) {
  const int64_t k = std::min(m, n);
  const Vector<T> zero(0), one(1);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < columns; ++j) put(i == j ? one : zero, q, i * columns + j);
  T* const scales = q + m * columns * kWidth<T>;
  for (int64_t j = 0; j < k; ++j) {
    T* const column = a + (j * n + j) * kWidth<T>;
    Vector<T> largest = size(at(column, 0)), below(0);
    for (int64_t i = 1; i < m - j; ++i) largest = max(largest, size(at(column, i * n)));
    const Vector<T> unit = power_near(largest), each = 1 / unit, first = at(column, 0) * each;
    for (int64_t i = 1; i < m - j; ++i) {
      const Vector<T> x = at(column, i * n) * each;
      below = fma(x, x, below);
    }
    const Vector<T> end = -with_sign(root(fma(first, first, below)), first);
    const Mask<T> done = below == 0;
    const Vector<T> scale = select(done, zero, (end - first) / end);
    put(scale, scales, j);
    for (int64_t i = 1; i < m - j; ++i)
      put(select(done, zero, at(column, i * n) * each / (first - end)), column, i * n);
    reflect(scale, column, n, column + kWidth<T>, n, m - j, n - j - 1);
    put(select(done, at(column, 0), end * unit), column, 0);
  }
  for (int64_t j = k - 1; j >= 0; --j) {
    const int64_t corner = j * columns + j;
    reflect(at(scales, j), a + (j * n + j) * kWidth<T>, n, q + corner * kWidth<T>, columns, m - j, columns - j);
  }
  for (int64_t j = 0; j < k; ++j) {
    const Mask<T> turns = at(a, j * n + j) < 0;
    for (int64_t c = j; c < n; ++c) put(select(turns, -at(a, j * n + c), at(a, j * n + c)), a, j * n + c);
    for (int64_t i = 0; i < m; ++i) {
      put(select(turns, -at(q, i * columns + j), at(q, i * columns + j)), q, i * columns + j);
      if (i > j) put(zero, a, i * n + j);
    }
  }
}

// ---- rotations ------------------------------------------------------------------------------------------------------

/// The rotation that makes the off-diagonal element of [[a, b], [b, d]] zero (Golub and Van Loan, "Matrix
/// Computations", 8.5.2). In lanes where `turns` is false it is the identity.
template <class T>
struct Rotation {
  Vector<T> t, c, s;
  HWY_INLINE Rotation(Mask<T> turns, Vector<T> a, Vector<T> b, Vector<T> d) {
    const Vector<T> ratio = (d - a) / (b + b);
    t = select(turns, with_sign(1 / (size(ratio) + root(fma(ratio, ratio, Vector<T>(1)))), ratio), Vector<T>(0));
    c = 1 / root(fma(t, t, Vector<T>(1)));
    s = t * c;
  }
  HWY_INLINE void operator()(T* x, T* y) const {
    const Vector<T> a = Vector<T>::load(x), b = Vector<T>::load(y);
    store(less(c * a, s, b), x);
    store(fma(s, a, c * b), y);
  }
};

/// Divides numbers by the power of two at or below the largest magnitude, and returns that power.
template <class T>
HWY_INLINE Vector<T> scale_down(T* a, int64_t count) {
  Vector<T> largest(0);
  for (int64_t i = 0; i < count; ++i) largest = max(largest, size(at(a, i)));
  const Vector<T> unit = power_near(largest), each = 1 / unit;
  for (int64_t i = 0; i < count; ++i) put(at(a, i) * each, a, i);
  return unit;
}

template <class T>
bool diagonalize(T* a, T* v, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < i; ++j) put(at(a, i * n + j), a, j * n + i);
  const Vector<T> unit = scale_down(a, n * n);
  for (int64_t i = 0; v && i < n * n; ++i) put(Vector<T>(i % (n + 1) == 0 ? 1 : 0), v, i);
  const auto place = [&](int64_t i, int64_t j) { return a + (std::max(i, j) * n + std::min(i, j)) * kWidth<T>; };
  bool converges = false;
  for (int sweep = 0; sweep < kSweeps && !converges; ++sweep) {
    converges = true;
    for (int64_t q = 1; q < n; ++q)
      for (int64_t p = 0; p < q; ++p) {
        const Vector<T> app = at(a, p * n + p), apq = at(a, q * n + p), aqq = at(a, q * n + q);
        const Mask<T> turns = size(apq) > kEpsilon<T> / 4;  // smaller ones may be rounding errors, which never vanish
        if (!any(turns)) continue;
        converges = converges && !any(size(apq) > 4 * kEpsilon<T>);
        const Rotation<T> rotate(turns, app, apq, aqq);
        put(less(app, rotate.t, apq), a, p * n + p);
        put(fma(rotate.t, apq, aqq), a, q * n + q);
        put(select(turns, Vector<T>(0), apq), a, q * n + p);
        for (int64_t k = 0; k < n; ++k)
          if (k != p && k != q) rotate(place(k, p), place(k, q));
        for (int64_t k = 0; v && k < n; ++k) rotate(v + (p * n + k) * kWidth<T>, v + (q * n + k) * kWidth<T>);
      }
  }
  for (int64_t i = 0; i < n; ++i) put(at(a, i * n + i) * unit, a, i * n + i);
  return converges;
}

template <class T>
bool orthogonalize(T* a, T* lengths, int64_t count, int64_t step, int64_t length, int64_t element_step) {
  const Vector<T> unit = scale_down(a, count * length);
  const T rounding = kEpsilon<T> * static_cast<T>(length);  // the rounding error of a product of two unit vectors
  bool converges = false;
  for (int sweep = 0; sweep < kSweeps && !converges; ++sweep) {
    converges = true;
    for (int64_t q = 1; q < count; ++q)
      for (int64_t p = 0; p < q; ++p) {
        T *const x = a + p * step * kWidth<T>, *const y = a + q * step * kWidth<T>;
        Vector<T> xx(0), xy(0), yy(0);
        for (int64_t i = 0; i < length; ++i) {
          const Vector<T> one = at(x, i * element_step), other = at(y, i * element_step);
          xx = fma(one, one, xx), xy = fma(one, other, xy), yy = fma(other, other, yy);
        }
        const Vector<T> product = root(xx) * root(yy);
        const Mask<T> counts = size(xy) > kEpsilon<T> * kEpsilon<T>,
                      turns = (size(xy) > product * (kEpsilon<T> / 2)) & counts;
        if (!any(turns)) continue;
        converges = converges && !any((size(xy) > product * rounding) & counts);
        const Rotation<T> rotate(turns, xx, xy, yy);
        for (int64_t i = 0; i < length; ++i) rotate(x + i * element_step * kWidth<T>, y + i * element_step * kWidth<T>);
      }
  }
  for (int64_t p = 0; p < count; ++p) {
    Vector<T> sum(0);
    for (int64_t i = 0; i < length; ++i) {
      const Vector<T> x = at(a, p * step + i * element_step);
      sum = fma(x, x, sum);
    }
    put(root(sum) * unit, lengths, p);
  }
  return converges;
}

template <class T>
constexpr MatrixLanes<T> kMatrixLanes{kWidth<T>, factor_cholesky<T>, factor_qr<T>, diagonalize<T>, orthogonalize<T>};

}  // namespace

const MatrixLanes<float>& lanes_float() { return kMatrixLanes<float>; }
const MatrixLanes<double>& lanes_double() { return kMatrixLanes<double>; }

}  // namespace kiln::cpu::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kiln::cpu::simd {

HWY_EXPORT(lanes_float);
HWY_EXPORT(lanes_double);
template <> const MatrixLanes<float>& matrix_lanes() { return HWY_DYNAMIC_DISPATCH(lanes_float)(); }
template <> const MatrixLanes<double>& matrix_lanes() { return HWY_DYNAMIC_DISPATCH(lanes_double)(); }

}  // namespace kiln::cpu::simd
#endif

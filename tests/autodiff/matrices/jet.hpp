// Numbers that carry their derivatives along three directions, exactly: a + t b + u c + v d + t u e + ... with
// t² = u² = v² = 0, in long double. What is computed with them by a textbook's formula has the derivatives that gradients
// are compared with.
#pragma once
#include <array>
#include <cmath>
#include <cstdint>
#include <vector>

namespace kiln::test {

using Real = long double;

struct Jet {
  std::array<Real, 8> part{};  // by which of t (1), u (2) and v (4) it stands
  Jet() = default;
  Jet(Real number) { part[0] = number; }
  Real number() const { return part[0]; }
};

inline Jet operator+(Jet a, const Jet& b) {
  for (std::size_t i = 0; i < 8; ++i) a.part[i] += b.part[i];
  return a;
}
inline Jet operator*(const Jet& a, const Jet& b) {
  Jet product;
  for (std::size_t i = 0; i < 8; ++i) {
    if (a.part[i] == 0) continue;
    const std::size_t others = 7 ^ i;
    for (std::size_t j = others;; j = (j - 1) & others) {
      product.part[i | j] += a.part[i] * b.part[j];
      if (j == 0) break;
    }
  }
  return product;
}
inline Jet operator-(Jet a) {
  for (Real& part : a.part) part = -part;
  return a;
}
inline Jet operator-(const Jet& a, const Jet& b) { return a + -b; }
/// A function with these derivatives at x.number().
inline Jet function_of(const Jet& x, Real f, Real first, Real second, Real third) {
  Jet d = x;
  d.part[0] = 0;
  return Jet(f) + d * Jet(first) + d * d * Jet(second / 2) + d * d * d * Jet(third / 6);
}
inline Jet inverse_of(const Jet& x) {
  const Real r = 1 / x.number();
  return function_of(x, r, -r * r, 2 * r * r * r, -6 * r * r * r * r);
}
inline Jet operator/(const Jet& a, const Jet& b) { return a * inverse_of(b); }
inline Jet root_of(const Jet& x) {
  const Real r = std::sqrt(x.number()), over = 1 / x.number();
  return function_of(x, r, r * over / 2, -r * over * over / 4, 3 * r * over * over * over / 8);
}
inline Jet log_of(const Jet& x) {
  const Real over = 1 / x.number();
  return function_of(x, std::log(x.number()), over, -over * over, 2 * over * over * over);
}
inline Jet size_of(const Jet& x) { return x.number() < 0 ? -x : x; }

/// A matrix of jets; of numbers where all else is 0.
struct Jets {
  std::int64_t rows = 0, columns = 0;
  std::vector<Jet> elements;

  Jets(std::int64_t m, std::int64_t n) : rows(m), columns(n), elements(static_cast<std::size_t>(m * n)) {}
  Jet& operator()(std::int64_t i, std::int64_t j) { return elements[static_cast<std::size_t>(i * columns + j)]; }
  const Jet& operator()(std::int64_t i, std::int64_t j) const {
    return elements[static_cast<std::size_t>(i * columns + j)];
  }
};

Jets identity_of(std::int64_t n);
Jets operator+(const Jets& a, const Jets& b);
Jets operator*(const Jets& a, const Jets& b);
Jets operator*(const Jets& a, const Jet& b);
Jets turned(const Jets& a);
/// (a + aᵀ) / 2
Jets even_part(const Jets& a);
Jet sum_of_squares(const Jets& a);
Jet trace_of(const Jets& a);
/// The sum of elements times fixed weights, which stand for a loss: those of weights() for a tensor of that size.
Jet weighted(const Jets& a);
std::vector<double> weights(std::int64_t count);

/// By minors of the first rows: nothing is divided.
Jet determinant_of(const Jets& a);
/// By Gauss and Jordan.
Jets inverse_of(const Jets& a);
Jets power_of(const Jets& a, int exponent);
/// Its series, for a / 32, squared five times.
Jets exponential_of(const Jets& a);
/// l below and u on and above the diagonal, with the row of a that is row i of l u in order[i].
Jets packed_of(const Jets& a, std::vector<std::int64_t>& order);
Jets cholesky_of(const Jets& a);
/// q and r of independent columns, by Gram and Schmidt.
struct Orthogonal {
  Jets q, r;
};
Orthogonal orthogonal_of(const Jets& a);
/// Ascending eigenvalues of a symmetric a, all or the first `count`, and their vectors in columns, which point as Kiln's; by
/// Newton's method, for eigenvalues that differ from all others.
struct Eigen {
  std::vector<Jet> values;
  Jets vectors;
};
Eigen eigen_of(const Jets& a, std::int64_t count = -1);
/// Descending singular values that differ.
std::vector<Jet> singular_values_of(const Jets& a);

}  // namespace kiln::test

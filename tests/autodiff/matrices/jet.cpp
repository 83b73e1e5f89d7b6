#include "tests/autodiff/matrices/jet.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

namespace kiln::test {

Jets identity_of(std::int64_t n) {
  Jets one(n, n);
  for (std::int64_t i = 0; i < n; ++i) one(i, i) = 1;
  return one;
}

Jets operator+(const Jets& a, const Jets& b) {
  Jets sum = a;
  for (std::size_t i = 0; i < a.elements.size(); ++i) sum.elements[i] = a.elements[i] + b.elements[i];
  return sum;
}

Jets operator*(const Jets& a, const Jets& b) {
  Jets product(a.rows, b.columns);
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (std::int64_t k = 0; k < a.columns; ++k)
      for (std::int64_t j = 0; j < b.columns; ++j) product(i, j) = product(i, j) + a(i, k) * b(k, j);
  return product;
}

Jets operator*(const Jets& a, const Jet& b) {
  Jets product = a;
  for (Jet& element : product.elements) element = element * b;
  return product;
}

Jets turned(const Jets& a) {
  Jets result(a.columns, a.rows);
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (std::int64_t j = 0; j < a.columns; ++j) result(j, i) = a(i, j);
  return result;
}

Jets even_part(const Jets& a) { return (a + turned(a)) * Jet(0.5L); }

Jet sum_of_squares(const Jets& a) {
  Jet sum;
  for (const Jet& element : a.elements) sum = sum + element * element;
  return sum;
}

Jet trace_of(const Jets& a) {
  Jet sum;
  for (std::int64_t i = 0; i < a.rows; ++i) sum = sum + a(i, i);
  return sum;
}

std::vector<double> weights(std::int64_t count) {
  std::vector<double> numbers;
  for (std::int64_t i = 0; i < count; ++i) numbers.push_back(std::sin(1.0 + 2.3 * static_cast<double>(i)));
  return numbers;
}

Jet weighted(const Jets& a) {
  const std::vector<double> by = weights(a.rows * a.columns);
  Jet sum;
  for (std::size_t i = 0; i < by.size(); ++i) sum = sum + a.elements[i] * Jet(by[i]);
  return sum;
}

Jet determinant_of(const Jets& a) {
  const auto n = static_cast<std::size_t>(a.rows);
  std::vector<Jet> minors(std::size_t{1} << n);  // of as many first rows as there are columns in the set
  minors[0] = 1;
  for (std::size_t columns = 1; columns < minors.size(); ++columns) {
    const int row = std::popcount(columns) - 1;
    int behind = 0;  // columns of the set to the right, each of which changes the sign
    for (std::size_t j = n; j-- > 0;) {
      if (!(columns >> j & 1u)) continue;
      const Jet term = a(row, static_cast<std::int64_t>(j)) * minors[columns ^ (std::size_t{1} << j)];
      minors[columns] = minors[columns] + (behind++ % 2 ? -term : term);
    }
  }
  return minors.back();
}

Jets inverse_of(const Jets& a) {
  Jets left = a, right = identity_of(a.rows);
  const std::int64_t n = a.rows;
  for (std::int64_t k = 0; k < n; ++k) {
    std::int64_t pivot = k;
    for (std::int64_t i = k; i < n; ++i)
      if (std::abs(left(i, k).number()) > std::abs(left(pivot, k).number())) pivot = i;
    for (std::int64_t j = 0; j < n; ++j) std::swap(left(k, j), left(pivot, j)), std::swap(right(k, j), right(pivot, j));
    const Jet over = inverse_of(left(k, k));
    for (std::int64_t j = 0; j < n; ++j) left(k, j) = left(k, j) * over, right(k, j) = right(k, j) * over;
    for (std::int64_t i = 0; i < n; ++i) {
      if (i == k) continue;
      const Jet factor = left(i, k);
      for (std::int64_t j = 0; j < n; ++j) {
        left(i, j) = left(i, j) - factor * left(k, j);
        right(i, j) = right(i, j) - factor * right(k, j);
      }
    }
  }
  return right;
}

Jets power_of(const Jets& a, int exponent) {
  Jets power = identity_of(a.rows);
  for (int i = 0; i < exponent; ++i) power = power * a;
  return power;
}

Jets exponential_of(const Jets& a) {
  constexpr int kSquarings = 5;
  const Jets part = a * Jet(std::ldexp(Real{1}, -kSquarings));
  Jets sum = identity_of(a.rows), term = sum;
  for (int k = 1; k < 18; ++k) {
    term = term * part * Jet(1.0L / k);
    sum = sum + term;
  }
  for (int i = 0; i < kSquarings; ++i) sum = sum * sum;
  return sum;
}

Jets packed_of(const Jets& a, std::vector<std::int64_t>& order) {
  Jets rest = a;
  order.resize(static_cast<std::size_t>(a.rows));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  for (std::int64_t k = 0; k < std::min(a.rows, a.columns); ++k) {
    std::int64_t pivot = k;
    for (std::int64_t i = k; i < a.rows; ++i)
      if (std::abs(rest(i, k).number()) > std::abs(rest(pivot, k).number())) pivot = i;
    std::swap(order[static_cast<std::size_t>(k)], order[static_cast<std::size_t>(pivot)]);
    for (std::int64_t j = 0; j < a.columns; ++j) std::swap(rest(k, j), rest(pivot, j));
    for (std::int64_t i = k + 1; i < a.rows; ++i) {
      const Jet factor = rest(i, k) / rest(k, k);
      for (std::int64_t j = k; j < a.columns; ++j) rest(i, j) = rest(i, j) - factor * rest(k, j);
      rest(i, k) = factor;
    }
  }
  return rest;
}

Jets cholesky_of(const Jets& a) {
  Jets l(a.rows, a.rows);
  for (std::int64_t i = 0; i < a.rows; ++i)
    for (std::int64_t j = 0; j <= i; ++j) {
      Jet rest = a(i, j);
      for (std::int64_t k = 0; k < j; ++k) rest = rest - l(i, k) * l(j, k);
      l(i, j) = i == j ? root_of(rest) : rest / l(j, j);
    }
  return l;
}

Orthogonal orthogonal_of(const Jets& a) {
  const std::int64_t k = std::min(a.rows, a.columns);
  Orthogonal result{Jets(a.rows, k), Jets(k, a.columns)};
  for (std::int64_t j = 0; j < a.columns; ++j) {
    std::vector<Jet> rest;
    for (std::int64_t i = 0; i < a.rows; ++i) rest.push_back(a(i, j));
    for (std::int64_t c = 0; c < std::min(j, k); ++c) {
      Jet along;
      for (std::int64_t i = 0; i < a.rows; ++i) along = along + result.q(i, c) * rest[static_cast<std::size_t>(i)];
      result.r(c, j) = along;
      for (std::int64_t i = 0; i < a.rows; ++i)
        rest[static_cast<std::size_t>(i)] = rest[static_cast<std::size_t>(i)] - along * result.q(i, c);
    }
    if (j >= k) continue;
    Jet squares;
    for (const Jet& x : rest) squares = squares + x * x;
    result.r(j, j) = root_of(squares);
    for (std::int64_t i = 0; i < a.rows; ++i) result.q(i, j) = rest[static_cast<std::size_t>(i)] / result.r(j, j);
  }
  return result;
}

namespace {

/// Jacobi's rotations of the numbers alone: where Newton's method starts.
Eigen first_guess(const Jets& a) {
  const std::int64_t n = a.rows;
  Jets left(n, n), v = identity_of(n);
  for (std::size_t i = 0; i < a.elements.size(); ++i) left.elements[i] = a.elements[i].number();
  for (int sweep = 0; sweep < 40; ++sweep)
    for (std::int64_t p = 0; p < n; ++p)
      for (std::int64_t q = p + 1; q < n; ++q) {
        const Real off = left(p, q).number();
        if (off == 0) continue;
        const Real ratio = (left(q, q).number() - left(p, p).number()) / (2 * off);
        const Real t = (ratio < 0 ? -1 : 1) / (std::abs(ratio) + std::hypot(Real{1}, ratio));
        const Real c = 1 / std::hypot(Real{1}, t), s = t * c;
        Jets turn = identity_of(n);
        turn(p, p) = turn(q, q) = c;
        turn(p, q) = s;
        turn(q, p) = -s;
        left = turned(turn) * left * turn;
        left(p, q) = left(q, p) = 0;
        v = v * turn;
      }
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), std::int64_t{0});
  std::ranges::sort(order, {}, [&](std::int64_t i) { return left(i, i).number(); });
  Eigen guess{{}, Jets(n, n)};
  for (std::int64_t j = 0; j < n; ++j) {
    const std::int64_t from = order[static_cast<std::size_t>(j)];
    guess.values.push_back(left(from, from));
    for (std::int64_t i = 0; i < n; ++i) guess.vectors(i, j) = v(i, from);
  }
  return guess;
}

}  // namespace

Eigen eigen_of(const Jets& a, std::int64_t count) {
  const std::int64_t n = a.rows, some = count < 0 ? n : count;
  const Eigen guess = first_guess(a);
  Eigen result{{guess.values.begin(), guess.values.begin() + some}, Jets(n, some)};
  for (std::int64_t j = 0; j < some; ++j) {
    Jet& value = result.values[static_cast<std::size_t>(j)];
    Jets x(n, 1);
    for (std::int64_t i = 0; i < n; ++i) x(i, 0) = guess.vectors(i, j);
    for (int step = 0; step < 3; ++step) {  // a x - value x = 0, xᵀ x = 1
      Jets slope(n + 1, n + 1), off(n + 1, 1);
      const Jets ax = a * x;
      for (std::int64_t i = 0; i < n; ++i) {
        for (std::int64_t k = 0; k < n; ++k) slope(i, k) = i == k ? a(i, k) - value : a(i, k);
        slope(i, n) = -x(i, 0);
        slope(n, i) = x(i, 0) * Jet(2);
        off(i, 0) = ax(i, 0) - value * x(i, 0);
      }
      off(n, 0) = sum_of_squares(x) - Jet(1);
      const Jets change = inverse_of(slope) * off;
      for (std::int64_t i = 0; i < n; ++i) x(i, 0) = x(i, 0) - change(i, 0);
      value = value - change(n, 0);
    }
    // The first of the elements within a tenth of the largest is positive.
    Real largest = 0;
    for (const Jet& element : x.elements) largest = std::max(largest, std::abs(element.number()));
    for (const Jet& element : x.elements)
      if (std::abs(element.number()) >= Real{0.9} * largest) {
        if (element.number() < 0) x = x * Jet(-1);
        break;
      }
    for (std::int64_t i = 0; i < n; ++i) result.vectors(i, j) = x(i, 0);
  }
  return result;
}

std::vector<Jet> singular_values_of(const Jets& a) {
  std::vector<Jet> values;
  for (const Jet& square : eigen_of(a.rows < a.columns ? a * turned(a) : turned(a) * a).values)
    values.push_back(root_of(square));
  std::ranges::reverse(values);
  return values;
}

}  // namespace kiln::test

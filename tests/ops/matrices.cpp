#include "tests/ops/matrices.hpp"

#include <algorithm>
#include <cmath>

namespace kiln::test {

std::vector<Array> each_in_batch(const std::vector<Array>& in, const std::vector<int>& ranks,
                                 const std::function<std::vector<Array>(const std::vector<Array>&)>& f) {
  const auto batch_of = [&](std::size_t i) {
    const Shape& shape = in[i].shape;
    return Shape(shape.begin(), shape.end() - ranks[i]);
  };
  Shape batch = batch_of(0);
  for (std::size_t i = 1; i < in.size(); ++i) batch = broadcast("test", batch, batch_of(i));
  const auto with_batch = [&](const std::vector<Array>& parts) {
    std::vector<Array> arrays;
    for (const Array& part : parts) {
      Shape shape = batch;
      for (const auto size : part.shape) shape.push_back(size);
      arrays.push_back(Array(shape));
    }
    return arrays;
  };
  std::vector<Array> results;
  std::size_t done = 0;
  const auto count = static_cast<std::size_t>(numel(batch));
  each_index(batch, [&](const Dims& index) {
    std::vector<Array> own;
    for (std::size_t i = 0; i < in.size(); ++i) {
      const Shape& shape = in[i].shape;
      Array part(Shape(shape.end() - ranks[i], shape.end()));
      each_index(part.shape, [&](const Dims& inner) {
        Dims at;
        for (int k = 0; k < batch_of(i).size(); ++k)
          at.push_back(shape[k] == 1 ? 0 : index[k + index.size() - batch_of(i).size()]);
        for (const auto k : inner) at.push_back(k);
        part(inner) = in[i](at);
      });
      own.push_back(part);
    }
    const std::vector<Array> parts = f(own);
    if (done == 0) results = with_batch(parts);
    for (std::size_t r = 0; r < parts.size(); ++r)
      std::copy(parts[r].v.begin(), parts[r].v.end(),
                results[r].v.begin() + static_cast<std::ptrdiff_t>(done * results[r].v.size() / count));
    ++done;
  });
  if (count > 0) return results;
  // Of an empty batch the shapes alone matter: those of f for any matrices that it takes.
  std::vector<Array> any;
  for (std::size_t i = 0; i < in.size(); ++i)
    any.push_back(shifted(Array(Shape(in[i].shape.end() - ranks[i], in[i].shape.end()), 0.1), 1));
  return with_batch(f(any));
  return results;
}

Array scalar(double value) { return Array({}, value); }

Array transposed(const Array& a) {
  Array result({a.shape[1], a.shape[0]});
  each_index(a.shape, [&](const Dims& at) { result({at[1], at[0]}) = a(at); });
  return result;
}

Array product(const Array& a, const Array& b) {
  Array result({a.shape[0], b.shape[1]});
  each_index(result.shape, [&](const Dims& at) {
    long double total = 0;
    for (std::int64_t k = 0; k < a.shape[1]; ++k) total += static_cast<long double>(a({at[0], k})) * b({k, at[1]});
    result(at) = static_cast<double>(total);
  });
  return result;
}

Array identity(std::int64_t n) {
  Array result({n, n});
  for (std::int64_t i = 0; i < n; ++i) result({i, i}) = 1;
  return result;
}

Array symmetric_part(const Array& a) {
  Array result(a.shape);
  each_index(a.shape, [&](const Dims& at) { result(at) = (a(at) + a({at[1], at[0]})) / 2; });
  return result;
}

Array triangle(const Array& a, bool upper) {
  Array result = a;
  each_index(a.shape, [&](const Dims& at) {
    if (upper ? at[0] > at[1] : at[0] < at[1]) result(at) = 0;
  });
  return result;
}

Array shifted(Array a, double by) {
  const int rank = a.shape.size();
  if (rank < 2) return a;
  each_index(a.shape, [&](const Dims& at) {
    if (at[rank - 1] == at[rank - 2]) a(at) += by * static_cast<double>(at[rank - 1] + 1);
  });
  return a;
}

Value shifted(const Value& a, double by) {
  if (a.empty() || a.is_scalar() || a.rank() < 2) return a;  // a wrong call
  return a + cast(from_data(
                      [&] {
                        const Shape square{a.dim(-2), a.dim(-1)};
                        const Array places = shifted(Array(square), by);
                        return TensorData::of<double>(square, std::span<const double>(places.v));
                      }(),
                      a.device()),
                  a.dtype());
}

double determinant(const Array& a) {
  const std::int64_t n = a.shape[0];
  if (n == 0) return 1;
  double total = 0;
  for (std::int64_t column = 0; column < n; ++column) {
    Array rest({n - 1, n - 1});
    each_index(rest.shape, [&](const Dims& at) { rest(at) = a({at[0] + 1, at[1] + (at[1] >= column)}); });
    total += (column % 2 == 0 ? 1 : -1) * a({0, column}) * determinant(rest);
  }
  return total;
}

Array inverted(const Array& a) {
  const std::int64_t n = a.shape[0];
  const double det = determinant(a);
  Array result(a.shape);
  each_index(a.shape, [&](const Dims& at) {  // Cramer: column at[0] replaced by a unit vector
    Array replaced = a;
    for (std::int64_t i = 0; i < n; ++i) replaced({i, at[0]}) = i == at[1];
    result(at) = determinant(replaced) / det;
  });
  return result;
}

Array pseudo_inverse(const Array& a) {
  const Array t = transposed(a);
  return a.shape[0] >= a.shape[1] ? product(inverted(product(t, a)), t) : product(t, inverted(product(a, t)));
}

Array cholesky_factor(const Array& a) {
  const std::int64_t n = a.shape[0];
  Array l(a.shape);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = j; i < n; ++i) {
      double total = a({i, j});
      for (std::int64_t k = 0; k < j; ++k) total -= l({i, k}) * l({j, k});
      l({i, j}) = i == j ? std::sqrt(total) : total / l({j, j});
    }
  }
  return l;
}

std::vector<Array> gram_schmidt(const Array& a) {
  const std::int64_t m = a.shape[0], n = a.shape[1], k = std::min(m, n);
  Array q({m, k}), r({k, n});
  for (std::int64_t j = 0; j < n; ++j) {
    std::vector<long double> column;
    for (std::int64_t i = 0; i < m; ++i) column.push_back(a({i, j}));
    for (std::int64_t i = 0; i < std::min(j, k); ++i) {
      long double along = 0;
      for (std::int64_t row = 0; row < m; ++row) along += q({row, i}) * column[static_cast<std::size_t>(row)];
      for (std::int64_t row = 0; row < m; ++row) column[static_cast<std::size_t>(row)] -= along * q({row, i});
      r({i, j}) = static_cast<double>(along);
    }
    if (j >= k) continue;
    long double squares = 0;
    for (const long double x : column) squares += x * x;
    r({j, j}) = static_cast<double>(std::sqrt(squares));
    for (std::int64_t row = 0; row < m; ++row)
      q({row, j}) = static_cast<double>(column[static_cast<std::size_t>(row)] / std::sqrt(squares));
  }
  return {q, r};
}

namespace {

/// Turns a column so that the first of its elements within a tenth of the largest is positive; returns its old sign.
double orient(Array& a, std::int64_t column) {
  double largest = 0;
  for (std::int64_t i = 0; i < a.shape[0]; ++i) largest = std::max(largest, std::abs(a({i, column})));
  std::int64_t first = 0;
  while (std::abs(a({first, column})) < 0.9 * largest) ++first;
  const double sign = a({first, column}) < 0 ? -1 : 1;
  for (std::int64_t i = 0; i < a.shape[0]; ++i) a({i, column}) *= sign;
  return sign;
}

}  // namespace

std::vector<Array> eigen(const Array& a) {
  const std::int64_t n = a.shape[0];
  // QR steps on a positive definite shift of a: its diagonal tends to the eigenvalues in descending order.
  double bound = 1;
  for (const double x : a.v) bound += std::abs(x);
  Array turned = a, vectors = identity(n);
  for (std::int64_t i = 0; i < n; ++i) turned({i, i}) += bound;
  for (int step = 0; step < 20000; ++step) {
    const std::vector<Array> qr = gram_schmidt(turned);
    turned = product(qr[1], qr[0]);
    vectors = product(vectors, qr[0]);
    double rest = 0;
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < i; ++j) rest = std::max(rest, std::abs(turned({i, j})));
    if (rest < 1e-17 * bound) break;
  }
  Array w({n}), v({n, n});
  for (std::int64_t k = 0; k < n; ++k) {
    const std::int64_t from = n - 1 - k;
    for (std::int64_t i = 0; i < n; ++i) v({i, k}) = vectors({i, from});
    // Rayleigh's quotient has twice the digits of its vector.
    long double above = 0, below = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      for (std::int64_t j = 0; j < n; ++j) above += static_cast<long double>(v({i, k})) * a({i, j}) * v({j, k});
      below += static_cast<long double>(v({i, k})) * v({i, k});
    }
    w({k}) = static_cast<double>(above / below);
    orient(v, k);
  }
  return {w, v};
}

std::vector<Array> singular(const Array& a) {
  if (a.shape[0] < a.shape[1]) {
    const std::vector<Array> other = singular(transposed(a));
    Array u = transposed(other[2]), v = other[0];
    for (std::int64_t k = 0; k < u.shape[1]; ++k) {
      const double sign = orient(u, k);
      for (std::int64_t i = 0; i < v.shape[0]; ++i) v({i, k}) *= sign;
    }
    return {u, other[1], transposed(v)};
  }
  const std::int64_t m = a.shape[0], n = a.shape[1];
  const std::vector<Array> squares = eigen(product(transposed(a), a));
  Array u({m, n}), s({n}), v({n, n});
  for (std::int64_t k = 0; k < n; ++k) {
    const std::int64_t from = n - 1 - k;
    s({k}) = std::sqrt(squares[0]({from}));
    for (std::int64_t i = 0; i < n; ++i) v({i, k}) = squares[1]({i, from});
    for (std::int64_t i = 0; i < m; ++i) {
      double along = 0;
      for (std::int64_t j = 0; j < n; ++j) along += a({i, j}) * v({j, k});
      u({i, k}) = along / s({k});
    }
    const double sign = orient(u, k);
    for (std::int64_t i = 0; i < n; ++i) v({i, k}) *= sign;
  }
  return {u, s, transposed(v)};
}

Array exponential(const Array& a) {
  Array total = identity(a.shape[0]), term = total;
  for (int k = 1; k < 120; ++k) {
    term = product(term, a);
    for (double& x : term.v) x /= k;
    for (std::size_t i = 0; i < total.v.size(); ++i) total.v[i] += term.v[i];
  }
  return total;
}

}  // namespace kiln::test

// Optimizers as their papers write them: loops in float64 over one parameter, which know nothing of Kiln.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <vector>

namespace kiln::references {

/// A parameter or its gradient: a matrix by rows, or a vector, of 0 columns.
struct Numbers {
  std::vector<double> at;
  int rows = 0, columns = 0;
  std::size_t size() const { return at.size(); }
};
/// One step on a parameter; keeps what it remembers to itself. t counts from 1.
using Step = std::function<void(Numbers& x, const Numbers& g, double rate, int t)>;
using MakeStep = std::function<Step()>;

/// A step that is the same for each element: make() gives (x, g, rate, t) -> next x, with its memory.
template <class Make>
MakeStep each(Make make) {
  return [make] {
    return [make, steps = std::vector<decltype(make())>()](Numbers& x, const Numbers& g, double rate, int t) mutable {
      while (steps.size() < x.size()) steps.push_back(make());
      for (std::size_t i = 0; i < x.size(); ++i) x.at[i] = steps[i](x.at[i], g.at[i], rate, t);
    };
  };
}

inline double root_mean_square(const std::vector<double>& x) {
  double sum = 0;
  for (const double each : x) sum += each * each;
  return std::sqrt(sum / static_cast<double>(x.size()));
}

struct AdamOptions {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, decay = 0, decoupled_decay = 0;
  bool amsgrad = false, cautious = false, cautious_decay = false;
};
inline MakeStep adam(const AdamOptions& o) {
  return [o] {
    return [o, m = std::vector<double>(), v = std::vector<double>(), largest = std::vector<double>()](
               Numbers& x, const Numbers& grad, double rate, int t) mutable {
      m.resize(x.size()), v.resize(x.size()), largest.resize(x.size());
      std::vector<double> u(x.size()), g(x.size());
      double agreeing = 0;
      for (std::size_t i = 0; i < x.size(); ++i) {
        g[i] = grad.at[i] + o.decay * x.at[i];
        m[i] = o.beta1 * m[i] + (1 - o.beta1) * g[i];
        v[i] = o.beta2 * v[i] + (1 - o.beta2) * g[i] * g[i];
        largest[i] = std::max(largest[i], v[i]);
        const double scale = (o.amsgrad ? largest[i] : v[i]) / (1 - std::pow(o.beta2, t));
        u[i] = m[i] / (1 - std::pow(o.beta1, t)) / (std::sqrt(scale) + o.epsilon);
        agreeing += u[i] * g[i] > 0;
      }
      const double share = std::max(agreeing / static_cast<double>(x.size()), 1e-3);
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (o.cautious) u[i] = u[i] * g[i] > 0 ? u[i] / share : 0;
        const double decay = o.cautious_decay && u[i] * x.at[i] < 0 ? 0 : o.decoupled_decay;
        x.at[i] -= rate * decay * x.at[i] + rate * u[i];
      }
    };
  };
}

/// You et al., algorithm 2.
inline MakeStep lamb(double beta1, double beta2, double epsilon, double decay) {
  return [=] {
    return [=, m = std::vector<double>(), v = std::vector<double>()](Numbers& x, const Numbers& g, double rate,
                                                                     int t) mutable {
      m.resize(x.size()), v.resize(x.size());
      std::vector<double> r(x.size());
      for (std::size_t i = 0; i < x.size(); ++i) {
        m[i] = beta1 * m[i] + (1 - beta1) * g.at[i];
        v[i] = beta2 * v[i] + (1 - beta2) * g.at[i] * g.at[i];
        const double mean = m[i] / (1 - std::pow(beta1, t)), square = v[i] / (1 - std::pow(beta2, t));
        r[i] = mean / (std::sqrt(square) + epsilon) + decay * x.at[i];
      }
      const double trust = root_mean_square(x.at) / root_mean_square(r);
      for (std::size_t i = 0; i < x.size(); ++i) x.at[i] -= rate * trust * r[i];
    };
  };
}

/// Shazeer, Stern, algorithms 4 and 5, with the decay, the floors and the relative step of torch.optim.Adafactor.
inline MakeStep adafactor(double exponent, double least, double threshold, double decay, double epsilon) {
  return [=] {
    return [=, rows = std::vector<double>(), columns = std::vector<double>()](Numbers& x, const Numbers& g, double rate,
                                                                              int t) mutable {
      const double fresh = std::pow(t, exponent);
      const std::size_t n = x.columns == 0 ? x.size() : static_cast<std::size_t>(x.rows),
                        k = static_cast<std::size_t>(std::max(x.columns, 1));
      rows.resize(n), columns.resize(k);
      std::vector<double> u(x.size());
      if (x.columns == 0) {
        for (std::size_t i = 0; i < n; ++i) {
          rows[i] += fresh * (g.at[i] * g.at[i] - rows[i]);
          u[i] = g.at[i] / std::sqrt(std::max(rows[i], epsilon * epsilon));
        }
      } else {
        double all = 0;
        for (std::size_t i = 0; i < n; ++i) {
          double sum = 0;
          for (std::size_t j = 0; j < k; ++j) sum += g.at[i * k + j] * g.at[i * k + j];
          rows[i] += fresh * (sum / static_cast<double>(k) - rows[i]);
          all += rows[i] / static_cast<double>(n);
        }
        for (std::size_t j = 0; j < k; ++j) {
          double sum = 0;
          for (std::size_t i = 0; i < n; ++i) sum += g.at[i * k + j] * g.at[i * k + j];
          columns[j] += fresh * (sum / static_cast<double>(n) - columns[j]);
        }
        for (std::size_t i = 0; i < n; ++i)
          for (std::size_t j = 0; j < k; ++j)
            u[i * k + j] =
                g.at[i * k + j] / std::sqrt(std::max(rows[i] * columns[j] / std::max(all, epsilon), epsilon * epsilon));
      }
      const double scale = std::max(least, root_mean_square(x.at)) * std::min(rate, 1 / std::sqrt(t)) /
                           std::max(1.0, root_mean_square(u) / threshold);
      for (std::size_t i = 0; i < x.size(); ++i) x.at[i] -= rate * decay * x.at[i] + scale * u[i];
    };
  };
}

// ---- small matrices
// ----------------------------------------------------------------------------------------------------

inline Numbers zeros(int rows, int columns) {
  return {std::vector<double>(static_cast<std::size_t>(rows * columns)), rows, columns};
}
inline double& at(Numbers& a, int i, int j) { return a.at[static_cast<std::size_t>(i * a.columns + j)]; }
inline double at(const Numbers& a, int i, int j) { return a.at[static_cast<std::size_t>(i * a.columns + j)]; }
inline Numbers transposed(const Numbers& a) {
  Numbers b = zeros(a.columns, a.rows);
  for (int i = 0; i < a.rows; ++i)
    for (int j = 0; j < a.columns; ++j) at(b, j, i) = at(a, i, j);
  return b;
}
inline Numbers product(const Numbers& a, const Numbers& b) {
  Numbers c = zeros(a.rows, b.columns);
  for (int i = 0; i < a.rows; ++i)
    for (int j = 0; j < b.columns; ++j)
      for (int k = 0; k < a.columns; ++k) at(c, i, j) += at(a, i, k) * at(b, k, j);
  return c;
}
inline Numbers mixed(const Numbers& a, double share, const Numbers& b, double other) {
  Numbers c = a;
  for (std::size_t i = 0; i < c.size(); ++i) c.at[i] = share * a.at[i] + other * b.at[i];
  return c;
}

/// Jordan et al.: five steps of the iteration x (a + b xᵀx + c (xᵀx)²) on a matrix of norm 1, without looking at its
/// shape.
inline MakeStep muon(double momentum, bool nesterov, double decay, double (*scale)(double rows, double columns)) {
  return [=] {
    return [=, m = Numbers()](Numbers& x, const Numbers& g, double rate, int t) mutable {
      m = t == 1 ? mixed(g, 1 - momentum, g, 0) : mixed(m, momentum, g, 1 - momentum);
      Numbers u = nesterov ? mixed(m, momentum, g, 1 - momentum) : m;
      const double norm = root_mean_square(u.at) * std::sqrt(static_cast<double>(u.size()));
      for (double& each : u.at) each /= norm;
      for (int i = 0; i < 5; ++i) {
        const Numbers gram = product(transposed(u), u);
        const Numbers quintic = mixed(gram, -4.775, product(gram, gram), 2.0315);
        u = mixed(u, 3.4445, product(u, quintic), 1);
      }
      x = mixed(x, 1 - rate * decay, u, -rate * scale(x.rows, x.columns));
    };
  };
}

/// Eigenvectors by Jacobi's rotations, as columns, that of the largest eigenvalue first.
inline Numbers eigenvectors(Numbers a) {
  const int n = a.rows;
  Numbers v = zeros(n, n);
  for (int i = 0; i < n; ++i) at(v, i, i) = 1;
  for (int sweep = 0; sweep < 60; ++sweep)
    for (int p = 0; p < n; ++p)
      for (int q = p + 1; q < n; ++q) {
        const double angle = std::atan2(2 * at(a, p, q), at(a, q, q) - at(a, p, p)) / 2;
        Numbers r = zeros(n, n);
        for (int i = 0; i < n; ++i) at(r, i, i) = 1;
        at(r, p, p) = at(r, q, q) = std::cos(angle);
        at(r, p, q) = std::sin(angle);
        at(r, q, p) = -std::sin(angle);
        a = product(transposed(r), product(a, r));
        v = product(v, r);
      }
  std::vector<int> order;
  for (int i = 0; i < n; ++i) order.push_back(i);
  std::ranges::sort(order, [&](int i, int j) { return at(a, i, i) > at(a, j, j); });
  Numbers sorted = zeros(n, n);
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < n; ++i) at(sorted, i, j) = at(v, i, order[static_cast<std::size_t>(j)]);
  return sorted;
}

/// Columns made orthonormal, one after the other (Gram and Schmidt, twice over).
inline Numbers orthonormal(Numbers a) {
  for (int j = 0; j < a.columns; ++j) {
    for (int k = 0; k < 2 * j; ++k) {
      double dot = 0;
      for (int i = 0; i < a.rows; ++i) dot += at(a, i, k % j) * at(a, i, j);
      for (int i = 0; i < a.rows; ++i) at(a, i, j) -= dot * at(a, i, k % j);
    }
    double square = 0;
    for (int i = 0; i < a.rows; ++i) square += at(a, i, j) * at(a, i, j);
    for (int i = 0; i < a.rows; ++i) at(a, i, j) /= std::sqrt(square);
  }
  return a;
}

/// Vyas et al., algorithm 3; the first step finds the bases, and step t of Adam is that after it. Vectors have Adam's.
inline MakeStep soap(double beta1, double beta2, double basis_beta, double epsilon, double decay, int every) {
  return [=]() -> Step {
    return [=, m = Numbers(), v = Numbers(), l = Numbers(), r = Numbers(), ql = Numbers(), qr = Numbers()](
               Numbers& x, const Numbers& g, double rate, int t) mutable {
      const bool matrix = x.columns > 0;
      const auto remember = [&] {
        l = mixed(l, basis_beta, product(g, transposed(g)), 1 - basis_beta);
        r = mixed(r, basis_beta, product(transposed(g), g), 1 - basis_beta);
      };
      if (t == 1) {
        m = v = mixed(g, 0, g, 0);
        if (matrix) {
          l = zeros(x.rows, x.rows), r = zeros(x.columns, x.columns);
          remember();
          ql = eigenvectors(l), qr = eigenvectors(r);
          return;
        }
      }
      const int n = matrix ? t - 1 : t;
      m = mixed(m, beta1, g, 1 - beta1);
      const auto into = [&](const Numbers& a) { return matrix ? product(product(transposed(ql), a), qr) : a; };
      const Numbers seen = into(g);
      Numbers u = into(m);
      for (std::size_t i = 0; i < u.size(); ++i) {
        v.at[i] = beta2 * v.at[i] + (1 - beta2) * seen.at[i] * seen.at[i];
        u.at[i] /= std::sqrt(v.at[i]) + epsilon;
      }
      if (matrix) u = product(product(ql, u), transposed(qr));
      x = mixed(x, 1, u, -rate * std::sqrt(1 - std::pow(beta2, n)) / (1 - std::pow(beta1, n)));
      x = mixed(x, 1 - rate * decay, x, 0);
      if (!matrix) return;
      remember();
      if (n % every == 0) ql = orthonormal(product(l, ql)), qr = orthonormal(product(r, qr));
    };
  };
}

}  // namespace kiln::references

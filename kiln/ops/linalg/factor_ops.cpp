#include "kiln/ops/linalg/factor_ops.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kiln/ops/check.hpp"
#include "kiln/ops/linalg/linalg.hpp"
#include "kiln/ops/linalg/matrix.hpp"
#include "kiln/ops/scope/no_grad.hpp"
#include "kiln/ops/view/diagonal.hpp"
#include "kiln/ops/vjp.hpp"

namespace kiln::op {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// x a⁻¹ for a triangular a.
Value times_inverse(const Value& x, const Value& a, const TriangularOptions& options) {
  return triangular_solve(a, x, {.upper = options.upper, .unit = options.unit, .left = false});
}

}  // namespace

Descs Cholesky::infer(Inputs in) const {
  require_count(kName, in, 1, 1);
  require_square(kName, in[0]);
  return one(in[0].shape(), in[0].dtype());
}

// Murray, "Differentiation of the Cholesky decomposition" (2016), equation 9.
void Cholesky::vjp(Backward& backward) const {
  backward.to(0, [&] {
    const Value l = backward.out(), inner = matmul(transpose(l), backward.grad());
    const Value half = tril(inner) - 0.5 * diag_embed(diagonal(inner));
    const Value outer = times_inverse(triangular_solve(transpose(l), half, {.upper = true}), l, {});
    return 0.5 * (outer + transpose(outer));
  });
}

Descs Lu::infer(Inputs in) const {
  require_count(kName, in, 1, 1);
  require_matrix(kName, in[0]);
  const Shape &shape = in[0].shape(), batch = batch_of(shape);
  return {Desc{shape, in[0].dtype()}, Desc{batched(batch, {rows_of(shape)}), DType::I64}, Desc{batch, in[0].dtype()}};
}

// For square matrices p a = l u gives the gradient of p a as l⁻ᵀ (tril(lᵀ l̄, -1) + triu(ū uᵀ)) u⁻ᵀ, where
// triu(ū uᵀ) u⁻ᵀ = ū - tril(ū uᵀ, -1) u⁻ᵀ: the last pivot, which may be 0, divides nothing. A tall matrix adds rows
// l₂ = a₂ u⁻¹ below, for which it does divide; a wide one adds columns u₂ = l⁻¹ a₂ on the right. A division by a
// pivot of 0 means that there is no derivative.
void Lu::vjp(Backward& backward) const {
  backward.to(0, [&] {
    const Value both = backward.out(packed), g = backward.grad(packed);
    const std::int64_t rows = rows_of(both.shape()), columns = columns_of(both.shape());
    const std::int64_t k = std::min(rows, columns);
    if (k == 0) return zeros_like(both);
    const Value square = narrow(narrow(both, -2, 0, k), -1, 0, k), g_square = narrow(narrow(g, -2, 0, k), -1, 0, k);
    const Value l = tril(square, -1) + identity(k, both), u = triu(square), pivots = diagonal(square);
    const Value last = ge(arange(0, k, 1, both.device()), rows > k ? k : k - 1);
    const Value divisor = triu(square, 1) + diag_embed(where(last, 1.0, where(eq(pivots, 0), kNone, pivots)));
    Value g_l = tril(g_square, -1), g_u = triu(g_square), beyond;
    if (rows > k) {
      const Value below = narrow(both, -2, k, rows - k);
      beyond = times_inverse(narrow(g, -2, k, rows - k), transpose(divisor), {});
      g_u = triu(g_u - matmul(transpose(below), beyond));
    } else if (columns > k) {
      const Value right = narrow(both, -1, k, columns - k);
      beyond = triangular_solve(transpose(l), narrow(g, -1, k, columns - k), {.upper = true, .unit = true});
      g_l = g_l - matmul(beyond, transpose(right));
    }
    const Value lower = tril(matmul(transpose(l), g_l) - matmul(g_u, transpose(u)), -1);
    Value permuted = triangular_solve(transpose(l), g_u + times_inverse(lower, transpose(divisor), {}),
                                      {.upper = true, .unit = true});
    if (beyond) permuted = cat(Values{permuted, beyond}, rows > k ? -2 : -1);
    const Value index = expand(unsqueeze(backward.out(permutation), -1), permuted.shape());
    return scatter_add(zeros_like(permuted), -2, index, permuted);
  });
}

Descs Qr::infer(Inputs in) const {
  require_count(kName, in, 1, 1);
  require_matrix(kName, in[0]);
  const Shape &shape = in[0].shape(), batch = batch_of(shape);
  const std::int64_t rows = rows_of(shape), columns = columns_of(shape), k = complete ? rows : std::min(rows, columns);
  const DType dtype = in[0].dtype();
  return {Desc{batched(batch, {rows, k}), dtype}, Desc{batched(batch, {k, columns}), dtype}};
}

// Walter and Lehmann, "Algorithmic differentiation of linear algebra functions" (2010), for k = n; columns of a beyond
// the first m affect only r, as qᵀ times them. With n = r r̄ᵀ and w = qᵀ q̄ the gradient is
// q (r̄ + tril(n - nᵀ + w - wᵀ, -1) r⁻ᵀ) + (q̄ - q w) r⁻ᵀ. Where a column depends on those before it, its column of q
// and its row of r are not unique: gradients of these have no derivative, and for others nothing is divided by the 0 in
// r.
void Qr::vjp(Backward& backward) const {
  const Shape& shape = backward.in_desc(0).shape;
  const std::int64_t rows = rows_of(shape), columns = columns_of(shape);
  require<AutodiffError>(!complete || rows <= columns, "qr: the complete form of ", shape,
                         " has no gradient, because the columns that complete q are not unique; use the reduced form");
  backward.to(0, [&] {
    Value q = backward.out(Qr::q), r = backward.out(Qr::r), g_q = backward.grad(Qr::q), g_r = backward.grad(Qr::r),
          rest;
    if (r.numel() == 0) return zeros(shape, backward.device(), r.dtype());
    if (columns > rows) {
      const std::int64_t extra = columns - rows;
      const Value g_right = narrow(g_r, -1, rows, extra);
      rest = matmul(q, g_right);
      g_q = g_q + matmul(narrow(backward.in(0), -1, rows, extra), transpose(g_right));
      g_r = narrow(g_r, -1, 0, rows);
      r = narrow(r, -1, 0, rows);
    }
    g_r = triu(g_r);
    const double epsilon =
        r.dtype() == DType::F64 ? std::numeric_limits<double>::epsilon() : std::numeric_limits<float>::epsilon();
    const Value fixed = r.detach(), pivots = diagonal(fixed);
    const Value dependent =
        le(pivots, epsilon * (16 + static_cast<double>(std::max(rows, columns))) * vector_norm(fixed, 2, {-2}));
    const Value divisor = transpose(triu(r, 1) + diag_embed(where(dependent, 1.0, diagonal(r))));
    const Value from_r = matmul(r, transpose(g_r)), from_q = matmul(transpose(q), g_q), both = from_r + from_q;
    const Value lower = tril(both - transpose(both), -1), turned = times_inverse(lower, divisor, {.upper = false});
    Value g = matmul(q, g_r + turned);
    const auto asked = [&](const Value& x, const Value& of, bool in_rows) {
      const Value size = std::sqrt(epsilon) * max(abs(of.detach()), {-2, -1}, true);
      const Value there = gt(abs(x.detach()), size);
      return any(where(unsqueeze(dependent, in_rows ? -1 : -2), there, false), {-2, -1}, true);
    };
    Value lost = where(asked(g_r, g_r, true), true, asked(g_q, g_q, false));
    lost = where(lost, true, asked(turned, lower, false));
    if (rows > columns) {
      const Value out = times_inverse(g_q - matmul(q, from_q), divisor, {.upper = false});
      lost = where(lost, true, asked(out, g_q, false));
      g = g + out;
    }
    const Value none = any(unsqueeze(dependent, -1), {-2, -1}, true);
    if (grad_enabled()) g = g + zero_without_slope(sum(r, {-2, -1}, true), none);
    g = where(lost, kNone, g);
    return rest ? cat(Values{g, rest}, -1) : g;
  });
}

}  // namespace kiln::op

#include "kiln/ops/product/products.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "kiln/core/size.hpp"
#include "kiln/ops/check.hpp"
#include "kiln/ops/elementwise/precision.hpp"

namespace kiln {
namespace {

void require_rank(std::string_view op, const Value& x, int rank) {
  op::require_tensor(op, x);
  require<ShapeError>(x.rank() == rank, op, ": needs ", rank, rank == 1 ? " dimension, got " : " dimensions, got ", x);
}

void require_at_least(std::string_view op, const Value& x, int rank) {
  op::require_tensor(op, x);
  require<ShapeError>(x.rank() >= rank, op, ": needs at least ", rank,
                      rank == 1 ? " dimension, got " : " dimensions, got ", x);
}

/// Sums products in a wider type: products of integers and of halves may overflow their type where the sum does not.
Value sum_of_products(const Value& x, const Value& y, const std::optional<Dims>& dims) {
  const auto add_up = [&](const Value& products) { return dims ? sum(products, *dims) : sum(products); };
  if (!is_float(x.dtype()) && !is_float(y.dtype())) return add_up(widened_for_sums(x) * widened_for_sums(y));
  const op::Steps steps{x, y};
  return steps.leave(add_up(steps.enter(x) * steps.enter(y)));
}

/// beta * c + alpha * product
Value add_product(std::string_view op, const Value& c, const Value& product, const AddmmOptions& options) {
  const Value scaled = options.alpha == Scalar(1) ? product : product * options.alpha;
  if (options.beta.to<double>() == 0) return scaled;
  op::require_tensor(op, c);
  require<ShapeError>(broadcast(op, c.shape(), product.shape()) == product.shape(), op, ": ", c.shape(),
                      " does not broadcast to the product ", product.shape());
  return (options.beta == Scalar(1) ? c : c * options.beta) + scaled;
}

}  // namespace

Value dot(const Value& x, const Value& y) {
  require_rank("dot", x, 1);
  require_rank("dot", y, 1);
  require<ShapeError>(x.shape() == y.shape(), "dot: ", x, " and ", y, " differ in length");
  return sum_of_products(x, y, {});
}

Value vdot(const Value& x, const Value& y) {
  op::require_tensor("vdot", x);
  op::require_tensor("vdot", y);
  require<ShapeError>(x.shape() == y.shape(), "vdot: ", x.shape(), " and ", y.shape(), " differ");
  return sum_of_products(x, y, {});
}

Value vecdot(const Value& x, const Value& y, Dim dim) {
  require_at_least("vecdot", x, 1);
  require_at_least("vecdot", y, 1);
  return sum_of_products(x, y, Dims{dim});
}

Value outer(const Value& x, const Value& y) {
  require_at_least("outer", x, 1);
  require_at_least("outer", y, 1);
  return unsqueeze(x, -1) * unsqueeze(y, -2);
}

Value cross(const Value& x, const Value& y, Dim dim) {
  op::require_tensor("cross", x);
  op::require_tensor("cross", y);
  const Shape shape = broadcast("cross", x.shape(), y.shape());
  const int at = wrap_dim("cross", dim, shape.size());
  require<ShapeError>(shape[at] == 3, "cross: dimension ", dim, " of ", x.shape(), " x ", y.shape(), " has size ",
                      shape[at], ", not 3");
  const auto components = [&](const Value& v) {
    const Value all = expand(v, shape);
    return std::array{narrow(all, at, 0, 1), narrow(all, at, 1, 1), narrow(all, at, 2, 1)};
  };
  const auto [ax, ay, az] = components(x);
  const auto [bx, by, bz] = components(y);
  return cat(Values{ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx}, at);
}

Value matvec(const Value& a, const Value& x) {
  require_at_least("matvec", a, 2);
  require_at_least("matvec", x, 1);
  require<ShapeError>(a.dim(-1) == x.dim(-1), "matvec: ", a.shape(), " x ", x.shape(), ": ", a.dim(-1), " and ",
                      x.dim(-1), " differ");
  return squeeze(matmul(a, unsqueeze(x, -1)), -1);
}

Value mm(const Value& a, const Value& b) {
  require_rank("mm", a, 2);
  require_rank("mm", b, 2);
  return matmul(a, b);
}

Value bmm(const Value& a, const Value& b) {
  require_rank("bmm", a, 3);
  require_rank("bmm", b, 3);
  require<ShapeError>(a.dim(0) == b.dim(0), "bmm: ", a.shape(), " x ", b.shape(), ": batches of ", a.dim(0), " and ",
                      b.dim(0));
  return matmul(a, b);
}

Value addmm(const Value& c, const Value& a, const Value& b, const AddmmOptions& options) {
  require_rank("addmm", a, 2);
  require_rank("addmm", b, 2);
  return add_product("addmm", c, matmul(a, b), options);
}

Value baddbmm(const Value& c, const Value& a, const Value& b, const AddmmOptions& options) {
  return add_product("baddbmm", c, bmm(a, b), options);
}

Value addmv(const Value& c, const Value& a, const Value& x, const AddmmOptions& options) {
  require_rank("addmv", a, 2);
  require_rank("addmv", x, 1);
  return add_product("addmv", c, matvec(a, x), options);
}

Value addr(const Value& c, const Value& x, const Value& y, const AddmmOptions& options) {
  require_rank("addr", x, 1);
  require_rank("addr", y, 1);
  return add_product("addr", c, outer(x, y), options);
}

Value multi_dot(Inputs factors) {
  const std::size_t count = factors.size();
  require<ArgumentError>(count >= 2, "multi_dot: needs at least two factors, got ", count);
  Values matrices(factors.begin(), factors.end());
  for (const Value& factor : matrices) op::require_tensor("multi_dot", factor);
  const bool row = matrices.front().rank() == 1, column = matrices.back().rank() == 1;
  if (row) matrices.front() = unsqueeze(matrices.front(), 0);
  if (column) matrices.back() = unsqueeze(matrices.back(), 1);
  for (std::size_t i = 0; i < count; ++i) {
    require_rank("multi_dot", matrices[i], 2);
    require<ShapeError>(i == 0 || matrices[i - 1].dim(1) == matrices[i].dim(0), "multi_dot: factor ", i, " is ",
                        matrices[i].shape(), " after ", i == 0 ? Shape{} : matrices[i - 1].shape());
  }
  // The classic dynamic programme: the fewest multiplications for the factors first to last, and where to split them.
  const auto size = [&](std::size_t i) {
    return static_cast<double>(i == 0 ? matrices[0].dim(0) : matrices[i - 1].dim(1));
  };
  std::vector<double> fewest(count * count, 0);
  std::vector<std::size_t> split(count * count, 0);
  for (std::size_t length = 2; length <= count; ++length) {
    for (std::size_t first = 0; first + length <= count; ++first) {
      const std::size_t last = first + length - 1;
      double& best = fewest[first * count + last];
      best = -1;
      for (std::size_t middle = first; middle < last; ++middle) {
        const double work = fewest[first * count + middle] + fewest[(middle + 1) * count + last] +
                            size(first) * size(middle + 1) * size(last + 1);
        if (best >= 0 && work >= best) continue;
        best = work;
        split[first * count + last] = middle;
      }
    }
  }
  const auto product = [&](const auto& self, std::size_t first, std::size_t last) -> Value {
    if (first == last) return matrices[first];
    const std::size_t middle = split[first * count + last];
    return matmul(self(self, first, middle), self(self, middle + 1, last));
  };
  Value result = product(product, 0, count - 1);
  if (column) result = squeeze(result, 1);
  return row ? squeeze(result, 0) : result;
}

Value tensordot(const Value& a, const Value& b, const Dims& dims_a, const Dims& dims_b) {
  op::require_tensor("tensordot", a);
  op::require_tensor("tensordot", b);
  require<ArgumentError>(dims_a.size() == dims_b.size(), "tensordot: ", dims_a, " and ", dims_b, " differ in length");
  Dims summed_a, summed_b, order_a, order_b;
  Shape shape;
  std::int64_t inner = 1, left = 1, right = 1;
  for (int i = 0; i < dims_a.size(); ++i) {
    const int of_a = wrap_dim("tensordot", dims_a[i], a.rank()), of_b = wrap_dim("tensordot", dims_b[i], b.rank());
    require<ShapeError>(a.dim(of_a) == b.dim(of_b), "tensordot: dimension ", dims_a[i], " of ", a.shape(),
                        " and dimension ", dims_b[i], " of ", b.shape(), " differ");
    require<ArgumentError>(std::find(summed_a.begin(), summed_a.end(), of_a) == summed_a.end() &&
                               std::find(summed_b.begin(), summed_b.end(), of_b) == summed_b.end(),
                           "tensordot: a dimension is named twice in ", dims_a, " or ", dims_b);
    summed_a.push_back(of_a);
    summed_b.push_back(of_b);
    inner = multiply_sizes("tensordot", inner, a.dim(of_a));
  }
  for (int i = 0; i < a.rank(); ++i) {
    if (std::find(summed_a.begin(), summed_a.end(), i) != summed_a.end()) continue;
    order_a.push_back(i);
    shape.push_back(a.dim(i));
    left = multiply_sizes("tensordot", left, a.dim(i));
  }
  for (const auto dim : summed_a) order_a.push_back(dim);
  for (const auto dim : summed_b) order_b.push_back(dim);
  for (int i = 0; i < b.rank(); ++i) {
    if (std::find(summed_b.begin(), summed_b.end(), i) != summed_b.end()) continue;
    order_b.push_back(i);
    shape.push_back(b.dim(i));
    right = multiply_sizes("tensordot", right, b.dim(i));
  }
  return reshape(matmul(reshape(permute(a, order_a), {left, inner}), reshape(permute(b, order_b), {inner, right})),
                 shape);
}

Value tensordot(const Value& a, const Value& b, int count) {
  op::require_tensor("tensordot", a);
  op::require_tensor("tensordot", b);
  require<ArgumentError>(0 <= count && count <= std::min(a.rank(), b.rank()), "tensordot: ", count, " dimensions of ",
                         a.shape(), " and ", b.shape());
  Dims last, first;
  for (int i = 0; i < count; ++i) last.push_back(a.rank() - count + i), first.push_back(i);
  return tensordot(a, b, last, first);
}

Value kron(const Value& a, const Value& b) {
  op::require_tensor("kron", a);
  op::require_tensor("kron", b);
  const int rank = std::max(a.rank(), b.rank());
  require<ShapeError>(2 * rank <= kMaxRank, "kron: ", a, " and ", b, " have more than ", kMaxRank / 2, " dimensions");
  Shape spread_a, spread_b, merged;
  for (int i = 0; i < rank; ++i) {
    const auto size = [&](const Value& x) { return i < rank - x.rank() ? 1 : x.dim(i - (rank - x.rank())); };
    spread_a.push_back(size(a));
    spread_a.push_back(1);
    spread_b.push_back(1);
    spread_b.push_back(size(b));
    merged.push_back(multiply_sizes("kron", size(a), size(b)));
  }
  Value x = reshape(a, spread_a), y = reshape(b, spread_b);
  // Each row of the result is one contiguous run: the repeated operands are small beside the result.
  if (rank > 1) {
    spread_a.back() = spread_b.back();
    spread_b[2 * rank - 2] = spread_a[2 * rank - 2];
    const auto repeated = [](const Value& part, const Shape& shape) {
      return reshape(reshape(expand(part, shape), {numel(shape)}), shape);
    };
    x = repeated(x, spread_a);
    y = repeated(y, spread_b);
  }
  return reshape(x * y, merged);
}

}  // namespace kiln

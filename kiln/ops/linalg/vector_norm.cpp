#include "kiln/ops/linalg/vector_norm.hpp"

#include <algorithm>
#include <vector>

#include "kiln/ops/backend.hpp"
#include "kiln/ops/elementwise/powers.hpp"
#include "kiln/ops/elementwise/precision.hpp"
#include "kiln/ops/fusion_traits.hpp"
#include "kiln/ops/linalg/length.hpp"
#include "kiln/ops/linalg/linalg.hpp"
#include "kiln/ops/linalg/matrix.hpp"
#include "kiln/ops/reduce/statistics.hpp"

namespace kiln {
namespace {

using op::Precision;
using op::rows_of;

/// The norm of elements whose powers stay within the range of the type.
Value plain_norm(const Value& x, double p, const Dims& dims, bool keep) {
  if (p == 0) return sum(where(ne(x, 0), 1.0, sign(x)), dims, keep);  // for zeros: 0, with slope 0
  if (p == 1) return sum(abs(x), dims, keep);
  if (p == 2) return euclidean_length(x, dims, keep);
  if (p == kInfinity) return max(abs(x), dims, keep);
  if (p == -kInfinity) return min(abs(x), dims, keep);
  return root_or_zero(sum(power_of_size(x, p), dims, keep), [&](const Value& total) { return pow(total, 1 / p); });
}

/// Singular values; those of a matrix of zeros have the slope 0, as the length of a zero vector has.
Value singular_values(const Value& a) {
  const Value values = svdvals(a);
  if (values.dim(-1) == 0) return values;
  return where(eq(narrow(values, -1, 0, 1), 0), 0.0, values);
}

/// Whether the norm is computed from powers that may leave the range of the type where the norm does not.
bool takes_powers(double p) { return p > 0 && p != 1 && p != 2 && p != kInfinity; }

Value norm_of(const Value& x, double p, const Dims& dims, bool keep) {
  if (!takes_powers(p)) return plain_norm(x, p, dims, keep);
  const auto [inside, factor] = scale_into_range(x, dims, p);
  return unscaled(plain_norm(inside, p, dims, keep), factor);
}

}  // namespace

Value vector_norm(const Value& x, double p) {
  op::require_tensor("vector_norm", x);
  Dims all;
  for (int i = 0; i < x.rank(); ++i) all.push_back(i);
  return vector_norm(x, p, all);
}

Value vector_norm(const Value& x, double p, const Dims& dims, bool keep) {
  const Precision precision("vector_norm", x);
  require<ArgumentError>(p == p, "vector_norm: p is NaN");
  return precision.leave(norm_of(precision.enter(x), p, dims, keep));
}

Value lp_norm(const Value& x, double p, Dim dim, bool keep) { return vector_norm(x, p, {dim}, keep); }
Value l0_norm(const Value& x, Dim dim, bool keep) { return vector_norm(x, 0, {dim}, keep); }
Value l1_norm(const Value& x, Dim dim, bool keep) { return vector_norm(x, 1, {dim}, keep); }
Value l2_norm(const Value& x, Dim dim, bool keep) { return vector_norm(x, 2, {dim}, keep); }
Value max_abs_norm(const Value& x, Dim dim, bool keep) { return vector_norm(x, kInfinity, {dim}, keep); }
Value min_abs_norm(const Value& x, Dim dim, bool keep) { return vector_norm(x, -kInfinity, {dim}, keep); }

Value vector_normalize(const Value& x, double p, Dim dim, double epsilon) {
  const Precision precision("vector_normalize", x);
  const Value inside = precision.enter(x);
  return precision.leave(inside / maximum(vector_norm(inside, p, {dim}, true), epsilon));
}

Value matrix_norm(const Value& a, MatrixNorm norm) {
  const Precision precision("matrix_norm", a);
  const Value inside = precision.enter(a);
  op::require_matrix("matrix_norm", inside);
  switch (norm) {
    case MatrixNorm::Frobenius: return precision.leave(norm_of(inside, 2, {-2, -1}, false));
    case MatrixNorm::Nuclear: return precision.leave(sum(singular_values(inside), {-1}));
    case MatrixNorm::Spectral:
    case MatrixNorm::MinusTwo: {
      const Value values = singular_values(inside);
      const std::int64_t count = values.dim(-1);
      require<ShapeError>(count > 0, "matrix_norm: ", a, " has no elements");
      return precision.leave(squeeze(narrow(values, -1, norm == MatrixNorm::Spectral ? 0 : count - 1, 1), -1));
    }
    case MatrixNorm::One: return precision.leave(max(sum(abs(inside), {-2}), {-1}));
    case MatrixNorm::Infinity: return precision.leave(max(sum(abs(inside), {-1}), {-1}));
    case MatrixNorm::MinusOne: return precision.leave(min(sum(abs(inside), {-2}), {-1}));
    case MatrixNorm::MinusInfinity: return precision.leave(min(sum(abs(inside), {-1}), {-1}));
  }
  return {};
}

Value cosine_similarity(const Value& x, const Value& y, Dim dim, double epsilon) {
  const Precision precision("cosine_similarity", {x, y});
  // A size of 1 along `dim` broadcasts to the size of the other operand.
  const Shape shape = broadcast("cosine_similarity", x.shape(), y.shape());
  const int at = wrap_dim("cosine_similarity", dim, shape.size());
  const Value a = expand(precision.enter(x), shape), b = expand(precision.enter(y), shape);
  const ScaledIntoRange first = scale_into_range(a, {at}), second = scale_into_range(b, {at});
  const auto length = [&](const ScaledIntoRange& v) {
    const Value inside = sqrt_or_zero(sum(square(v.x), {at}));
    return maximum(inside, factor_beside(inside, v.factor) * epsilon);
  };
  return precision.leave(vecdot(first.x, second.x, at) / (length(first) * length(second)));
}

Value pairwise_distance(const Value& x, const Value& y, double p, bool keep) {
  const Precision precision("pairwise_distance", {x, y});
  return precision.leave(vector_norm(precision.enter(x) - precision.enter(y), p, {-1}, keep));
}

Value pdist(const Value& x, double p) {
  require<ShapeError>(x.rank() == 2, "pdist: takes [rows, width], got ", x);
  const std::int64_t rows = x.dim(0);
  std::vector<std::int64_t> first, second;
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = i + 1; j < rows; ++j) first.push_back(i), second.push_back(j);
  const auto chosen = [&](const std::vector<std::int64_t>& places) {
    const auto count = static_cast<std::int64_t>(places.size());
    return select(x, 0, from_data(TensorData::of<std::int64_t>({count}, places), x.device()));
  };
  return pairwise_distance(chosen(first), chosen(second), p);
}

Value renorm(const Value& x, double p, Dim dim, double limit) {
  const Precision precision("renorm", x);
  require<ArgumentError>(p > 0, "renorm: p must be positive, got ", p);
  require<ArgumentError>(limit >= 0, "renorm: the limit must not be negative, got ", limit);
  Dims others;
  for (int i = 0, along = wrap_dim("renorm", dim, x.rank()); i < x.rank(); ++i)
    if (i != along) others.push_back(i);
  const Value inside = precision.enter(x), lengths = vector_norm(inside, p, others, true);
  const Value above = gt(lengths, limit);
  return precision.leave(inside * where(above, limit / where(above, lengths, 1.0), 1.0));
}

namespace {

/// The distances of rows of a to rows of b, from all their differences: laid out as [..., m, d, n] where b has many
/// rows, whose elements are then adjacent, and otherwise as [..., m, n, d].
class Distances {
 public:
  Distances(const Value& b, double p) : p_(p), side_by_side_(b.dim(-2) >= kMany) {
    Shape shape = b.shape();
    if (side_by_side_) std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
    shape.insert(shape.size() - 2, 1);
    // No view of b has its elements in this order in memory; flattening copies them.
    b_ = side_by_side_ ? reshape(reshape(transpose(b), {b.numel()}), shape) : reshape(b, shape);
  }
  Value operator()(const Value& a) const {
    return plain_norm(unsqueeze(a, side_by_side_ ? -1 : -2) - b_, p_, {side_by_side_ ? -2 : -1}, false);
  }

 private:
  static constexpr std::int64_t kMany = 16;
  double p_;
  bool side_by_side_;
  Value b_;
};

/// The number of differences computed at a time, so that they stay small beside the result, and fit a cache where that
/// matters.
std::int64_t most_differences(const Device& device) {
  const auto blocks = device.backend().fusion_traits().blocks;
  return blocks ? blocks->max_row : std::int64_t{1} << 22;
}

}  // namespace

Value cdist(const Value& x, const Value& y, double p, bool through_matmul) {
  const Precision precision("cdist", {x, y});
  Value a = precision.enter(x), b = precision.enter(y);
  op::require_matrix("cdist", a);
  op::require_matrix("cdist", b);
  require<ShapeError>(a.dim(-1) == b.dim(-1), "cdist: ", x, " and ", y, " have rows of ", a.dim(-1), " and ", b.dim(-1),
                      " elements");
  require<ArgumentError>(!through_matmul || p == 2, "cdist: through matmul p must be 2, got ", p);
  require<ArgumentError>(p == p, "cdist: p is NaN");
  Value factor;
  if (takes_powers(p) ||
      through_matmul) {  // one factor for all; a factor for each distance would take as long as the distances
    const auto own = [&](const Value& of) { return reshape(range_factor(of, all_dims(of), p), {}); };
    factor = minimum(own(a), own(b));
    a = a * factor;
    b = b * factor;
  }
  const auto leave = [&](const Value& distances) { return precision.leave(factor ? distances / factor : distances); };
  if (!through_matmul) {
    const std::int64_t rows = rows_of(a.shape()), each = std::max<std::int64_t>(1, b.numel());
    const std::int64_t step = std::max<std::int64_t>(1, most_differences(a.device()) / each);
    const Distances distances(b, p);
    Values parts;
    for (std::int64_t begin = 0; begin < std::max<std::int64_t>(rows, 1); begin += step)
      parts.push_back(distances(narrow(a, -2, begin, std::min(step, rows - begin))));
    return leave(parts.size() == 1 ? parts[0] : cat(parts, -2));
  }
  // Distances to a common centre keep the subtracted terms as small as possible.
  const Value centre = mean(b, {-2}, true), from = a - centre, to = b - centre;
  const Value squares =
      sum(square(from), {-1}, true) + unsqueeze(sum(square(to), {-1}), -2) - 2 * matmul(from, transpose(to));
  return leave(sqrt_or_zero(relu(squares)));
}

}  // namespace kiln

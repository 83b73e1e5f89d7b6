// Normalisations.
#include <algorithm>

#include "kiln/onnx/operators/broadcast.hpp"
#include "kiln/ops/linalg/vector_norm.hpp"
#include "kiln/ops/norm/normalization.hpp"
#include "kiln/ops/reduce/statistics.hpp"
#include "kiln/ops/view/view.hpp"

namespace kiln::onnx {
namespace {

Value wide(const Value& x) { return of_type(x, wide_type(x.dtype())); }

// [channels] so that it broadcasts to [batch, channels, sizes...].
Value by_channel(const Value& x, int rank) { return x.rank() == 1 ? along(x, 1, rank) : x; }

Results batch_normalization(Call& c) {
  const Value& x = c[0];
  const double epsilon = c.f("epsilon", 1e-5f), momentum = c.f("momentum", 0.9f);
  const bool training = c.version() >= 14  ? c.i("training_mode", 0) != 0
                        : c.version() >= 7 ? c.wants(1)
                                           : c.i("is_test", 0) == 0 && c.wants(1);
  const bool each_activation = c.version() < 9 && c.i("spatial", 1) == 0;
  const Value input = wide(x), scale = wide(c[1]), bias = wide(c[2]);
  Value mean_of = wide(c[3]), variance_of = wide(c[4]);
  std::vector<Datum> statistics;
  if (training) {
    Dims dims;
    for (int d = 0; d < x.rank(); ++d)
      if (d == 0 || (d > 1 && !each_activation)) dims.push_back(d);
    const VarianceAndMean now = variance_and_mean(input, dims, 0);
    for (const auto& [running, current, like] :
         {std::tuple(mean_of, now.mean, c[3]), std::tuple(variance_of, now.variance, c[4])})
      statistics.emplace_back(of_type(running * momentum + current * (1 - momentum), like.dtype()));
    for (const auto& [current, like] : {std::pair(now.mean, c[3]), std::pair(now.variance, c[4])})
      statistics.emplace_back(of_type(current, like.dtype()));
    mean_of = now.mean, variance_of = now.variance;
  }
  const auto spread = [&](const Value& v) { return each_activation ? v : by_channel(v, x.rank()); };
  const Value deviation = rsqrt(spread(variance_of) + epsilon), factor = deviation * spread(scale);
  // Factors that depend on the channel alone are computed first.
  const Value result = training ? (input - spread(mean_of)) * deviation * spread(scale) + spread(bias)
                                : input * factor + (spread(bias) - spread(mean_of) * factor);
  std::vector<Datum> out{Datum(of_type(result, x.dtype()))};
  out.insert(out.end(), statistics.begin(), statistics.end());
  return Results(std::move(out));
}

Results instance_normalization(Call& c) {
  const Value& x = c[0];
  return of_type(instance_norm(wide(x), wide(c[1]), wide(c[2]), c.f("epsilon", 1e-5f)), x.dtype());
}

Dims trailing(const Call& c, const Value& x) {
  Dims dims;
  for (int d = c.dim(c.i("axis", -1), x.rank()); d < x.rank(); ++d) dims.push_back(d);
  return dims;
}

// Do parameters lie as Kiln's own norms have them: one for each element of the dimensions that are normalised, in the type
// of x, which is a single one?
bool covers(const Value& parameter, const Value& x, const Dims& dims) {
  const Shape shape(x.shape().end() - dims.size(), x.shape().end());
  return parameter.dtype() == x.dtype() && wide_type(x.dtype()) == x.dtype() && parameter.shape() == shape;
}

Results layer_normalization(Call& c) {
  const Value& x = c[0];
  const Dims dims = trailing(c, x);
  if (!c.wants(1) && !c.wants(2) && covers(c[1], x, dims) && (!c.has(2) || covers(c[2], x, dims)))
    return layer_norm(x, c[1], c.has(2) ? c[2] : zeros_like(c[1]), c.f("epsilon", 1e-5f));
  const Value input = c.i("stash_type", 1) == 1 ? of_type(x, x.dtype() == DType::F64 ? DType::F64 : DType::F32) : x;
  const VarianceAndMean of = variance_and_mean(input, dims, 0, true);
  const Value inverse = rsqrt(of.variance + c.f("epsilon", 1e-5f));
  Value result = of_type((input - of.mean) * inverse, x.dtype()) * c[1];
  if (c.has(2)) result = result + c[2];
  return {of_type(result, x.dtype()), of_type(of.mean, input.dtype()), of_type(inverse, input.dtype())};
}

Results rms_normalization(Call& c) {
  const Value& x = c[0];
  if (covers(c[1], x, trailing(c, x))) return rms_norm(x, c[1], c.f("epsilon", 1e-5f));
  const Value input = c.i("stash_type", 1) == 1 ? of_type(x, x.dtype() == DType::F64 ? DType::F64 : DType::F32) : x;
  const Value inverse = rsqrt(mean(square(input), trailing(c, x), true) + c.f("epsilon", 1e-5f));
  return of_type(of_type(input * inverse, x.dtype()) * c[1], c[1].dtype());
}

// The operator that became RMSNormalization of the standard, with the factors as a second result.
Results simplified_layer_normalization(Call& c) {
  const Value y = rms_normalization(c).list.at(0).value();
  if (!c.wants(1)) return y;
  const Value x = of_type(c[0], DType::F32);
  return {y, rsqrt(mean(square(x), trailing(c, x), true) + c.f("epsilon", 1e-5f))};
}

Results group_normalization(Call& c) {
  const Value& x = c[0];
  const std::int64_t groups = c.i("num_groups", 0);
  c.check(groups > 0 && x.rank() >= 2 && x.dim(1) % groups == 0, groups, " groups of the channels of ", x.shape());
  if (c.version() >= 21 && wide_type(x.dtype()) == x.dtype() && c[1].dtype() == x.dtype())
    return group_norm(x, groups, c[1], c[2], c.f("epsilon", 1e-5f));
  const Value normal = group_norm(wide(x), groups, {}, {}, c.f("epsilon", 1e-5f));
  const auto spread = [&](const Value& v) {  // up to version 20 there is one number for each group
    const Value all = c.version() < 21 ? repeat_interleave(v, x.dim(1) / groups, 0) : v;
    return by_channel(wide(all), x.rank());
  };
  return of_type(normal * spread(c[1]) + spread(c[2]), x.dtype());
}

Results local_response(Call& c) {
  const Value& x = c[0];
  const std::int64_t size = c.i("size", 1);
  c.check(size > 0 && x.rank() >= 2, "size ", size, " for ", x.shape());
  Dims before = Dims::filled(x.rank(), 0), after = before;
  // A window that reaches beyond the channels finds zeros there.
  before[1] = std::min((size - 1) / 2, x.dim(1));
  after[1] = std::min(size - 1 - (size - 1) / 2, x.dim(1));
  const std::int64_t window = before[1] + after[1] + 1;
  const Value squares = sum(unfold(pad(square(wide(x)), before, after), 1, window, 1), {-1});
  const double alpha = c.f("alpha", 1e-4f) / static_cast<double>(size);
  return of_type(wide(x) * pow(squares * alpha + c.f("bias", 1), -c.f("beta", 0.75)), x.dtype());
}

Results lp_normalization(Call& c) {
  const Value& x = c[0];
  const int axis = c.dim(c.i("axis", -1), x.rank());
  const std::int64_t p = c.i("p", 2);
  c.check(p == 1 || p == 2, "p is ", p, ", not 1 or 2");
  const Value norm = vector_norm(wide(x), static_cast<double>(p), {axis}, true);
  return of_type(where(eq(norm, 0), 0, wide(x) / norm), x.dtype());
}

Results mean_variance_normalization(Call& c) {
  const Value& x = c[0];
  Ints axes = c.ints("axes");
  if (!c.given("axes")) axes = {0, 2, 3};
  Dims dims;
  for (const std::int64_t axis : axes) dims.push_back(c.dim(axis, x.rank()));
  const VarianceAndMean of = variance_and_mean(wide(x), dims, 0, true);
  return of_type((wide(x) - of.mean) / (sqrt(of.variance) + 1e-9), x.dtype());
}

constexpr OperatorRow kNormRows[] = {
    {"BatchNormalization", 1, batch_normalization, {.kind = OperatorKind::SameShape}},
    {"GroupNormalization", 18, group_normalization, {.kind = OperatorKind::SameShape}},
    {"InstanceNormalization", 1, instance_normalization, {.kind = OperatorKind::SameShape}},
    {"LRN", 1, local_response},
    {"LayerNormalization", 17, layer_normalization, {.kind = OperatorKind::SameShape}},
    {"LpNormalization", 1, lp_normalization, {.kind = OperatorKind::SameShape}},
    {"MeanVarianceNormalization", 9, mean_variance_normalization},
    {"RMSNormalization", 23, rms_normalization, {.kind = OperatorKind::SameShape}},
    {"SimplifiedLayerNormalization", 1, simplified_layer_normalization},  // ONNX Runtime's, in this domain
};

}  // namespace

std::span<const OperatorRow> norm_rows() { return kNormRows; }

}  // namespace kiln::onnx

#include "kiln/ops/create/random.hpp"

#include <cmath>

#include "kiln/ops/check.hpp"
#include "kiln/ops/create/create_ops.hpp"
#include "kiln/ops/emit.hpp"
#include "kiln/ops/reduce/order.hpp"

namespace kiln {
namespace {

using op::Distribution;

Value draw(Distribution distribution, const Shape& shape, const Value& a, const Value& b, const Device& device,
           DType dtype, const RandomKey& key) {
  const op::Random op{distribution, shape, dtype};
  const Value chosen = op::key_operand(key, device);
  return a.is_scalar() && b.is_scalar() ? emit(device, op, {chosen, a, b}) : emit(op, {chosen, a, b});
}

/// The shape and type to which the parameters broadcast; at least one must be a tensor.
Desc drawn_from(std::string_view name, const Value& a, const Value& b = 0) {
  require<ArgumentError>(a && b, name, ": a parameter is empty");
  require<ArgumentError>(!a.is_scalar() || !b.is_scalar(), name, ": plain numbers have no shape; give one");
  const DType dtype = a.is_scalar() ? b.dtype() : b.is_scalar() ? a.dtype() : promote(a.dtype(), b.dtype());
  return {broadcast(name, a.shape(), b.shape()), is_float(dtype) ? dtype : DType::F32};
}

Value untracked(const Value& x) { return x.tracked() ? x.detach() : x; }

Value draw(Distribution distribution, std::string_view name, const Value& a, const Value& b, const RandomKey& key) {
  const Desc desc = drawn_from(name, a, b);
  return draw(distribution, desc.shape, cast(a, desc.dtype), cast(b, desc.dtype), (a.is_scalar() ? b : a).device(),
              desc.dtype, key);
}

void require_untracked(std::string_view name, const Value& parameter) {
  require<AutodiffError>(!parameter.tracked(), name, ": a sample has no gradient for ", parameter, "; detach() it");
}

void require_positive(std::string_view name, std::string_view parameter, double number) {
  require<ArgumentError>(number > 0, name, ": the ", parameter, " must be positive, got ", number);
}

void require_fits(std::string_view name, std::int64_t number, DType dtype) {
  require<DTypeError>(is_integer(dtype), name, ": gives whole numbers, not ", dtype);
  const bool fits = visit_dtype(dtype, [&]<class T>(TypeTag<T>) {
    return convert<std::int64_t>(convert<T>(number)) == number && (number >= 0 || !std::is_unsigned_v<T>);
  });
  require<ArgumentError>(fits, name, ": ", dtype, " does not hold ", number);
}

void require_weights(std::string_view name, const Value& weights) {
  require<ShapeError>(weights && weights.rank() >= 1 && weights.dim(-1) > 0, name,
                      ": needs weights [..., classes], got ", weights);
}

}  // namespace

Value uniform(const Value& low, const Value& high, RandomKey key) {
  const Desc desc = drawn_from("uniform", low, high);
  return low + (high - low) * uniform(desc.shape, 0, 1, (low.is_scalar() ? high : low).device(), desc.dtype, key);
}
Value normal(const Value& mean, const Value& deviation, RandomKey key) {
  const Desc desc = drawn_from("normal", mean, deviation);
  const Device device = (mean.is_scalar() ? deviation : mean).device();
  return mean + deviation * normal(desc.shape, 0, 1, device, desc.dtype, key);
}
Value truncated_normal(const Shape& shape, const NormalWithin& distribution, const Device& device, DType dtype,
                       RandomKey key) {
  const auto& [mean, deviation, low, high] = distribution;
  require<ArgumentError>(low <= high, "truncated_normal: the range from ", low, " to ", high, " is empty");
  require<ArgumentError>(deviation > 0 && std::isfinite(deviation), "truncated_normal: a standard deviation of ",
                         deviation);
  require<ArgumentError>(std::isfinite(mean), "truncated_normal: a mean of ", mean);
  const Value z = draw(Distribution::TruncatedNormal, shape, (low - mean) / deviation, (high - mean) / deviation,
                       device, dtype, key);
  return clamp(z * deviation + mean, low, high);
}

Value bernoulli(const Value& probability, RandomKey key) {
  return draw(Distribution::Bernoulli, "bernoulli", untracked(probability), 0.0, key);
}

Value exponential(const Shape& shape, double rate, const Device& device, DType dtype, RandomKey key) {
  require_positive("exponential", "rate", rate);
  return draw(Distribution::Exponential, shape, rate, 0.0, device, dtype, key);
}
Value exponential(const Value& rate, RandomKey key) {
  const Desc desc = drawn_from("exponential", rate);
  const Value scale = where(ge(rate, 0), 1 / rate, std::nan(""));
  return exponential(desc.shape, 1, rate.device(), desc.dtype, key) * scale;
}

Value gamma(const Shape& shape, double concentration, double scale, const Device& device, DType dtype, RandomKey key) {
  require_positive("gamma", "concentration", concentration);
  require_positive("gamma", "scale", scale);
  return draw(Distribution::Gamma, shape, concentration, 0.0, device, dtype, key) * scale;
}
Value gamma(const Value& concentration, RandomKey key) {
  require_untracked("gamma", concentration);
  return draw(Distribution::Gamma, "gamma", concentration, 0.0, key);
}

Value beta(const Shape& shape, double a, double b, const Device& device, DType dtype, RandomKey key) {
  for (const double parameter : {a, b}) require_positive("beta", "parameter", parameter);
  return draw(Distribution::Beta, shape, a, b, device, dtype, key);
}
Value beta(const Value& a, const Value& b, RandomKey key) {
  require_untracked("beta", a);
  require_untracked("beta", b);
  return draw(Distribution::Beta, "beta", a, b, key);
}

Value poisson(const Shape& shape, double rate, const Device& device, DType dtype, RandomKey key) {
  require<ArgumentError>(rate >= 0, "poisson: the rate must not be negative, got ", rate);
  return draw(Distribution::Poisson, shape, rate, 0.0, device, dtype, key);
}
Value poisson(const Value& rate, RandomKey key) {
  return draw(Distribution::Poisson, "poisson", untracked(rate), 0.0, key);
}

Value categorical(const Value& weights, RandomKey key) {
  require_weights("categorical", weights);
  return squeeze(multinomial(weights, 1, true, key), -1);
}
Value multinomial(const Value& weights, std::int64_t count, bool replacement, RandomKey key) {
  require_weights("multinomial", weights);
  require<ArgumentError>(count >= 0, "multinomial: cannot sample ", count, " times");
  const Value w = is_float(weights.dtype()) ? untracked(weights) : cast(weights, DType::F64);
  Shape shape = w.shape();
  shape.back() = count;
  if (replacement) return draw(Distribution::Categorical, shape, w, 0.0, w.device(), DType::I64, key);

  // In a race of exponential clocks with rates w, the first to ring is the first sample without replacement, and the
  // first k are k samples.
  if (w.numel() > 0) {
    require<ArgumentError>(all(logical_and(ge(w, 0), is_finite(w))).item() != 0,
                           "multinomial: weights must be finite and not negative");
    const auto most = static_cast<std::int64_t>(min(sum(gt(w, 0), {-1})).item());
    require<ArgumentError>(count <= most, "multinomial: cannot sample ", count,
                           " times without replacement from a row of ", most, " weights");
  }
  const Value clocks = exponential(w.shape(), 1, w.device(), DType::F64, key) / cast(w, DType::F64);
  return topk(clocks, count, -1, false).indices;
}

Value randint(const Shape& shape, std::int64_t low, std::int64_t high, const Device& device, DType dtype,
              RandomKey key) {
  require<ArgumentError>(low < high, "randint: the range from ", low, " to ", high, " is empty");
  for (const std::int64_t end : {low, high - 1}) require_fits("randint", end, dtype);
  return draw(Distribution::Integer, shape, low, high, device, dtype, key);
}
Value randperm(const Scalar& count, const Device& device, DType dtype, RandomKey key) {
  const auto size = count.to<std::int64_t>();
  require<ArgumentError>(size >= 0, "randperm: the count must not be negative, got ", size);
  require_fits("randperm", size > 0 ? size - 1 : 0, dtype);
  // Up to this size short keys are hardly ever equal, and they are sorted in half the time.
  constexpr std::int64_t kFew = std::int64_t{1} << 20;
  Value keys;
  if (size <= kFew) {
    const Value halves = cast(uniform({2, size}, 0, 65536, device, DType::F32, key), DType::I32);
    keys = at(halves, 0, 0) * 65536 + at(halves, 0, 1);
  } else {
    keys = uniform({size}, 0, 1, device, DType::F64, key);
  }
  return cast(argsort(keys, 0), dtype);
}

Value uniform_like(const Value& x, double low, double high, RandomKey key) {
  op::require_tensor("uniform_like", x);
  return uniform(x.shape(), low, high, x.device(), x.dtype(), key);
}
Value normal_like(const Value& x, double mean, double deviation, RandomKey key) {
  op::require_tensor("normal_like", x);
  return normal(x.shape(), mean, deviation, x.device(), x.dtype(), key);
}
Value bernoulli_like(const Value& x, double probability, RandomKey key) {
  op::require_tensor("bernoulli_like", x);
  return bernoulli(x.shape(), probability, x.device(), x.dtype(), key);
}
Value exponential_like(const Value& x, double rate, RandomKey key) {
  op::require_tensor("exponential_like", x);
  return exponential(x.shape(), rate, x.device(), x.dtype(), key);
}
Value randint_like(const Value& x, std::int64_t low, std::int64_t high, RandomKey key) {
  op::require_tensor("randint_like", x);
  return randint(x.shape(), low, high, x.device(), x.dtype(), key);
}

}  // namespace kiln

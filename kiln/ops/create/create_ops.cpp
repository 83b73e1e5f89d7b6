#include "kiln/ops/create/create_ops.hpp"

#include <cmath>

#include "kiln/core/error/called_as.hpp"
#include "kiln/ops/backend.hpp"
#include "kiln/ops/check.hpp"
#include "kiln/ops/emit.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/move.hpp"
#include "kiln/ops/scope/no_grad.hpp"
#include "kiln/ops/view/another_view.hpp"
#include "kiln/ops/view/view.hpp"
#include "kiln/ops/vjp.hpp"

namespace kiln {
namespace op {
namespace {

void require_number(std::string_view name, const Value& value) {
  require<ArgumentError>(value.is_scalar(), name, ": needs a plain number, got ", value);
}
void require_key(std::string_view name, const Value& value) {
  require<ArgumentError>(value.is_scalar() && value.scalar().kind() == Kind::Int, name,
                         ": the key must be an integer, got ", value);
}

bool takes_tensors(Distribution distribution) {
  switch (distribution) {
    case Distribution::Bernoulli:
    case Distribution::Gamma:
    case Distribution::Beta:
    case Distribution::Poisson: return true;
    default: return false;
  }
}

}  // namespace

Descs Fill::infer(Inputs in) const {
  require_count(kName, in, 1, 1);
  require_number(kName, in[value]);
  numel(shape);
  return one(shape, dtype);
}

Descs Arange::infer(Inputs in) const {
  require_count(kName, in, 2, 2);
  require_number(kName, in[start]);
  require_number(kName, in[step]);
  require<ArgumentError>(count >= 0, "arange: ", count, " elements");
  require<DTypeError>(dtype != DType::Bool, "arange: cannot count in booleans");
  return one({count}, dtype);
}

Descs Random::infer(Inputs in) const {
  require_count(kName, in, 3, 3);
  require_key(kName, in[key]);
  numel(shape);
  if (distribution == Distribution::Categorical) {
    require_float("categorical", in[a]);
    Shape rows = in[a].shape(), wanted = shape;
    require<ShapeError>(!rows.empty() && rows.size() == wanted.size() && rows.back() > 0, "categorical: ", in[a],
                        " has no weights");
    rows.pop_back();
    wanted.pop_back();
    require<ShapeError>(rows == wanted, "categorical: weights ", in[a].shape(), " give no samples of ", shape);
  } else {
    for (const Value& parameter : {in[a], in[b]}) {
      if (!takes_tensors(distribution)) require_number(kName, parameter);
      if (parameter.is_scalar()) continue;
      require_float(kName, parameter);
      require<ShapeError>(broadcast(kName, parameter.shape(), shape) == shape, "random: ", parameter,
                          " does not broadcast to ", shape);
    }
  }
  const bool whole = distribution == Distribution::Integer || distribution == Distribution::Categorical;
  require<DTypeError>(whole ? is_integer(dtype) : is_float(dtype) || distribution == Distribution::Bernoulli,
                      "random: ", dtype,
                      whole ? " does not hold whole numbers" : " cannot hold numbers between others");
  return one(shape, dtype);
}

Value key_operand(const std::optional<Key>& key, const Device& device) {
  const Key chosen = key ? *key : device.backend().next_key();
  return Scalar(static_cast<std::int64_t>(chosen.bits));
}

Descs Dropout::infer(Inputs in) const {
  require_count(kName, in, 3, 3);
  require_float(kName, in[x]);
  require_key(kName, in[key]);
  require_number(kName, in[probability]);
  return one(in[x].shape(), in[x].dtype());
}
void Dropout::vjp(Backward& backward) const {
  backward.to(x, [&] { return emit(*this, {backward.grad(), backward.in(key), backward.in(probability)}); });
}

}  // namespace op

Value from_data(TensorData data, const Device& device) {
  return Value(device.backend().upload(std::move(data), device));
}
Value to_device(const Value& x, const Device& device) {
  const bool stays = !device.place().chosen || x.device().place() == device.place();
  if (x.is_scalar() || (x.device() == device && stays && x.device().is_autodiff() == device.is_autodiff())) return x;
  if (!(x.device() == device)) return start_move(x, device)->take();
  // The result shares the memory, unless it is to be on another part of the device.
  const NoGrad pause;
  return another_view(x, device);
}

Value full(const Shape& shape, const Scalar& value, const Device& device, DType dtype) {
  const CalledAs named("full");
  return emit(device, op::Fill{shape, dtype}, {value});
}
Value zeros(const Shape& shape, const Device& device, DType dtype) {
  const CalledAs named("zeros");
  return full(shape, 0, device, dtype);
}
Value ones(const Shape& shape, const Device& device, DType dtype) {
  const CalledAs named("ones");
  return full(shape, 1, device, dtype);
}
Value zeros_like(const Value& x) { return zeros(x.shape(), x.device(), x.dtype()); }
Value ones_like(const Value& x) { return ones(x.shape(), x.device(), x.dtype()); }

namespace {

/// The number of values start, start + step, ... before `end`; doubles cannot represent all integers.
std::uint64_t steps_between(std::int64_t start, std::int64_t end, std::int64_t step) {
  if (step > 0 ? start >= end : start <= end) return 0;
  const auto first = static_cast<std::uint64_t>(start), last = static_cast<std::uint64_t>(end),
             pace = static_cast<std::uint64_t>(step);
  return step > 0 ? (last - first - 1) / pace + 1 : (first - last - 1) / (0 - pace) + 1;
}

}  // namespace

Value arange(const Scalar& start, const Scalar& end, const Scalar& step, const Device& device, DType dtype) {
  const double pace = step.to<double>();
  require<ArgumentError>(pace != 0 && std::isfinite(pace), "arange: the step is ", step);
  const bool whole = start.kind() != Kind::Float && end.kind() != Kind::Float && step.kind() != Kind::Float;
  std::uint64_t count = 0;
  if (whole) {
    count = steps_between(start.to<std::int64_t>(), end.to<std::int64_t>(), step.to<std::int64_t>());
  } else {
    const double steps = std::ceil((end.to<double>() - start.to<double>()) / pace);
    require<ArgumentError>(steps < 0x1p63, "arange: from ", start, " to ", end, " in steps of ", step, " never ends");
    count = steps > 0 ? static_cast<std::uint64_t>(steps) : 0;
  }
  require<ArgumentError>(count >> 63 == 0, "arange: from ", start, " to ", end, " there are ", count,
                         " elements, more than 2^63 - 1");
  return emit(device, op::Arange{static_cast<std::int64_t>(count), dtype}, {start, step});
}

namespace {

Value random(op::Distribution distribution, const Shape& shape, double a, double b, const Device& device, DType dtype,
             const std::optional<Key>& key) {
  return emit(device, op::Random{distribution, shape, dtype}, {op::key_operand(key, device), a, b});
}

void require_probability(std::string_view op, double probability) {
  require<ArgumentError>(probability >= 0 && probability <= 1, op, ": a probability of ", probability,
                         " is not between 0 and 1");
}

}  // namespace

Value uniform(const Shape& shape, double low, double high, const Device& device, DType dtype, std::optional<Key> key) {
  const CalledAs named("uniform");
  require<ArgumentError>(low <= high, "uniform: the range from ", low, " to ", high, " is empty");
  require<ArgumentError>(std::isfinite(high - low), "uniform: the range from ", low, " to ", high, " is not finite");
  return random(op::Distribution::Uniform, shape, low, high, device, dtype, key);
}
Value normal(const Shape& shape, double mean, double deviation, const Device& device, DType dtype,
             std::optional<Key> key) {
  const CalledAs named("normal");
  require<ArgumentError>(deviation >= 0 && std::isfinite(deviation), "normal: a standard deviation of ", deviation);
  return random(op::Distribution::Normal, shape, mean, deviation, device, dtype, key);
}
Value bernoulli(const Shape& shape, double probability, const Device& device, DType dtype, std::optional<Key> key) {
  const CalledAs named("bernoulli");
  require_probability("bernoulli", probability);
  return random(op::Distribution::Bernoulli, shape, probability, 0, device, dtype, key);
}
Value dropout(const Value& x, double probability, std::optional<Key> key) {
  require_probability("dropout", probability);
  if (probability == 0) return x;
  const Value drawn =
      op::key_operand(key, x.device());  // throws where a repeated checkpointed function behaves differently
  return emit(op::Dropout{}, {x, drawn, probability});
}

}  // namespace kiln

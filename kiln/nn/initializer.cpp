#include "kiln/nn/initializer.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "kiln/core/reflect/reflect.hpp"
#include "kiln/ops/create/random.hpp"
#include "kiln/ops/linalg/linalg.hpp"
#include "kiln/ops/reduce/order.hpp"
#include "kiln/ops/view/diagonal.hpp"

#include "kiln/nn/module/uninitialized.hpp"

namespace kiln::nn {
namespace {

/// A matrix [larger size, smaller size] with orthogonal columns; the signs make the distribution uniform among all such
/// matrices (Mezzadri, 2007).
Value orthogonal(const Shape& shape, double gain, const Device& device) {
  require<ShapeError>(shape.size() >= 2, "Orthogonal: a weight has two dimensions or more, got ", shape);
  const std::int64_t count = numel(shape), rows = shape[0], columns = rows ? count / rows : 0;
  if (count == 0) return zeros(shape, device);
  const bool tall = rows > columns;
  const auto [q, r] = qr(normal({std::max(rows, columns), std::min(rows, columns)}, 0, 1, device));
  const Value signs = where(lt(diagonal(r), 0), -1.0, ones_like(diagonal(r)));
  const Value matrix = q * signs;
  return reshape(tall ? matrix : transpose(matrix), shape) * gain;
}

/// Zeroes random elements of each column: those with the smallest of as many uniform numbers.
Value sparse(const Shape& shape, const init::Sparse& options, const Device& device) {
  require<ShapeError>(shape.size() == 2, "Sparse: a weight is a matrix, got ", shape);
  require<ArgumentError>(options.sparsity >= 0 && options.sparsity <= 1, "Sparse: a sparsity of ", options.sparsity,
                         " is not between 0 and 1");
  const auto zeros_each = static_cast<std::int64_t>(std::ceil(options.sparsity * static_cast<double>(shape[0])));
  const Value drawn = normal(shape, 0, options.deviation, device);
  if (zeros_each == 0 || numel(shape) == 0) return drawn;
  const Value rank = argsort(argsort(uniform(shape, 0, 1, device), 0), 0);
  return where(lt(rank, zeros_each), 0.0, drawn);
}

Value dirac(const Shape& shape, std::int64_t groups, const Device& device) {
  require<ShapeError>(shape.size() >= 3 && shape.size() <= 5, "Dirac: a weight is [out, in / groups, kernel...], got ",
                      shape);
  require<ArgumentError>(groups > 0 && shape[0] % groups == 0, "Dirac: ", groups, " groups do not divide ", shape[0],
                         " channels");
  TensorData weight(shape, DType::F32);
  const auto elements = weight.as<float>();
  std::fill(elements.begin(), elements.end(), 0.0f);
  std::int64_t window = 1, middle = 0;
  for (int i = 2; i < shape.size(); ++i) {
    window *= shape[i];
    middle = middle * shape[i] + shape[i] / 2;
  }
  if (window == 0) return from_data(std::move(weight), device);
  const std::int64_t out = shape[0] / groups;
  for (std::int64_t group = 0; group < groups; ++group)
    for (std::int64_t i = 0; i < std::min(out, shape[1]); ++i)
      elements[static_cast<std::size_t>(((group * out + i) * shape[1] + i) * window + middle)] = 1;
  return from_data(std::move(weight), device);
}

/// Random weights with a standard deviation that depends on the fans. A fan of 0 means a weight without elements.
struct Draw {
  const Shape& shape;
  const Fans& fans;
  const Device& device;

  double kaiming(double gain, bool fan_out) const {
    return gain / std::sqrt(static_cast<double>(std::max<std::int64_t>(fan_out ? fans.out : fans.in, 1)));
  }
  double xavier(double gain) const {
    return gain * std::sqrt(2.0 / static_cast<double>(std::max<std::int64_t>(fans.in + fans.out, 1)));
  }
  Value uniform_of(double deviation) const {
    const double bound = deviation * std::sqrt(3.0);
    return uniform(shape, -bound, bound, device);
  }
  Value normal_of(double deviation) const { return normal(shape, 0, deviation, device); }

  Value operator()(const init::Zeros&) const { return zeros(shape, device); }
  Value operator()(const init::Ones&) const { return ones(shape, device); }
  Value operator()(const init::Constant& c) const { return full(shape, c.value, device); }
  Value operator()(const init::Uniform& u) const { return uniform(shape, u.low, u.high, device); }
  Value operator()(const init::Normal& n) const { return normal(shape, n.mean, n.deviation, device); }
  Value operator()(const init::LecunUniform&) const { return uniform_of(kaiming(1, false)); }
  Value operator()(const init::LecunNormal&) const { return normal_of(kaiming(1, false)); }
  Value operator()(const init::TruncatedNormal& t) const {
    return truncated_normal(shape, {t.mean, t.deviation, t.low, t.high}, device);
  }
  Value operator()(const init::Orthogonal& o) const { return orthogonal(shape, o.gain, device); }
  Value operator()(const init::Sparse& s) const { return sparse(shape, s, device); }
  Value operator()(const init::Dirac& d) const { return dirac(shape, d.groups, device); }
  Value operator()(const init::KaimingUniform& k) const { return uniform_of(kaiming(k.gain, k.fan_out)); }
  Value operator()(const init::KaimingNormal& k) const { return normal_of(kaiming(k.gain, k.fan_out)); }
  Value operator()(const init::XavierUniform& x) const { return uniform_of(xavier(x.gain)); }
  Value operator()(const init::XavierNormal& x) const { return normal_of(xavier(x.gain)); }
};

/// Checks an option: a NaN or infinity would make all weights NaN.
void require_number(std::string_view initializer, std::string_view option, double number) {
  require<ArgumentError>(std::isfinite(number), initializer, ": ", option, " = ", number, " must be finite");
  const bool is_size = option == "gain" || option == "deviation";
  require<ArgumentError>(!is_size || number >= 0, initializer, ": ", option, " = ", number, " must not be negative");
}
template <class I>
void require_numbers(const I& options) {
  [&]<std::size_t... N>(std::index_sequence<N...>) {
    [[maybe_unused]] const auto fields = reflect::fields(options);
    [[maybe_unused]] const auto check = [](std::string_view option, auto value) {
      if constexpr (std::is_floating_point_v<decltype(value)>) require_number(reflect::type_name<I>(), option, value);
    };
    (check(reflect::field_names<I>()[N], std::get<N>(fields)), ...);
  }(std::make_index_sequence<reflect::field_count<I>>());
}
void require_range(std::string_view initializer, double low, double high) {
  require<ArgumentError>(low <= high, initializer, ": low = ", low, " must not be above high = ", high);
}
void require_numbers(const init::Uniform& options) {
  require_number("Uniform", "low", options.low);
  require_number("Uniform", "high", options.high);
  require_range("Uniform", options.low, options.high);
}
/// The bounds may be infinite.
void require_numbers(const init::TruncatedNormal& options) {
  require_range("TruncatedNormal", options.low, options.high);
  require_number("TruncatedNormal", "mean", options.mean);
  require_number("TruncatedNormal", "deviation", options.deviation);
}

}  // namespace

Fans fans_of(const Shape& weight) {
  require<ShapeError>(weight.size() >= 2, "fans_of: a weight has two dimensions or more, got ", weight);
  std::int64_t window = 1;
  for (int i = 2; i < weight.size(); ++i) window *= weight[i];
  return {.in = weight[1] * window, .out = weight[0] * window};
}

Value initialize(const Initializer& initializer, const Shape& shape, const Fans& fans, const Device& device) {
  if (Uninitialized::is_on()) return expand(full({}, 0, device), shape);
  std::visit([](const auto& options) { require_numbers(options); }, initializer);
  return std::visit(Draw{shape, fans, device}, initializer);
}

}  // namespace kiln::nn

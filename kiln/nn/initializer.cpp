#include "kiln/nn/initializer.hpp"

#include <algorithm>
#include <cmath>

#include "kiln/nn/module/undrawn.hpp"

namespace kiln::nn {
namespace {

/// Draws with a standard deviation that the fans give. A fan of 0 belongs to a weight without elements.
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
  Value operator()(const init::KaimingUniform& k) const { return uniform_of(kaiming(k.gain, k.fan_out)); }
  Value operator()(const init::KaimingNormal& k) const { return normal_of(kaiming(k.gain, k.fan_out)); }
  Value operator()(const init::XavierUniform& x) const { return uniform_of(xavier(x.gain)); }
  Value operator()(const init::XavierNormal& x) const { return normal_of(xavier(x.gain)); }
};

}  // namespace

Fans fans_of(const Shape& weight) {
  require<ShapeError>(weight.size() >= 2, "fans_of: a weight has two dimensions or more, got ", weight);
  std::int64_t window = 1;
  for (int i = 2; i < weight.size(); ++i) window *= weight[i];
  return {.in = weight[1] * window, .out = weight[0] * window};
}

Value initialize(const Initializer& initializer, const Shape& shape, const Fans& fans, const Device& device) {
  if (Undrawn::is_on()) return expand(full({}, 0, device), shape);
  return std::visit(Draw{shape, fans, device}, initializer);
}

}  // namespace kiln::nn

#include "kiln/nn/norm/group_norm.hpp"

#include <cmath>

#include "kiln/ops/norm/normalization.hpp"

namespace kiln::nn {
namespace {

template <class Norm, class Config>
Norm made_by(const Config& config, const Device& device) {
  Norm norm;
  norm.epsilon = config.epsilon;
  if (config.affine) {
    norm.weight = Param<1>(ones({config.channels}, device));
    norm.bias = Param<1>(zeros({config.channels}, device));
  }
  return norm;
}

}  // namespace

Value GroupNorm::apply(const Value& x) const { return group_norm(x, groups, weight.value(), bias.value(), epsilon); }

GroupNorm GroupNormConfig::init(const Device& device) const {
  require<ArgumentError>(channels > 0, "GroupNormConfig: channels = ", channels, " must be positive");
  require<ArgumentError>(epsilon >= 0 && std::isfinite(epsilon), "GroupNormConfig: epsilon = ", epsilon,
                         " must be finite and not negative");
  require<ArgumentError>(groups > 0 && channels % groups == 0, "GroupNormConfig: ", groups, " groups do not divide ",
                         channels, " channels");
  GroupNorm norm = made_by<GroupNorm>(*this, device);
  norm.groups = groups;
  return norm;
}

Value InstanceNorm::apply(const Value& x) const { return instance_norm(x, weight.value(), bias.value(), epsilon); }

InstanceNorm InstanceNormConfig::init(const Device& device) const {
  require<ArgumentError>(channels > 0, "InstanceNormConfig: channels = ", channels, " must be positive");
  require<ArgumentError>(epsilon >= 0 && std::isfinite(epsilon), "InstanceNormConfig: epsilon = ", epsilon,
                         " must be finite and not negative");
  return made_by<InstanceNorm>(*this, device);
}

Value LocalResponseNorm::apply(const Value& x) const {
  return local_response_norm(x, {.size = size, .alpha = alpha, .beta = beta, .k = k});
}

}  // namespace kiln::nn

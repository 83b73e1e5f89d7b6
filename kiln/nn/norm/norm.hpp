// Any normalisation, as a module and as what a config says: .norm = nn::GroupNormConfig{.groups = 8, .channels = 64}, in
// JSON "norm": {"GroupNorm": {"groups": 8, "channels": 64}}.
#pragma once
#include "kiln/nn/identity.hpp"
#include "kiln/nn/norm/batch_norm.hpp"
#include "kiln/nn/norm/group_norm.hpp"
#include "kiln/nn/norm/layer_norm.hpp"
#include "kiln/nn/one_of.hpp"

namespace kiln::nn {

using Normalization = OneOf<BatchNorm, GroupNorm, InstanceNorm, LayerNorm, LocalResponseNorm, RmsNorm, Identity>;
using NormalizationConfig = Normalization::Config;

/// The config with `features` for the size or the channels where it leaves them out.
template <class... Configs>
std::variant<Configs...> with_features(std::variant<Configs...> config, std::int64_t features) {
  std::visit(
      [&](auto& norm) {
        if constexpr (requires { norm.channels; }) norm.channels = norm.channels ? norm.channels : features;
        if constexpr (requires { norm.init(Device::cpu()).weight, norm.size; })
          norm.size = norm.size ? norm.size : features;
      },
      config);
  return config;
}

/// What a transformer's blocks may have: over the last dimension.
using SequenceNorm = OneOf<LayerNorm, RmsNorm>;

}  // namespace kiln::nn

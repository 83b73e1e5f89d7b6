// Any normalisation, as a module and as an option of configs: .norm = nn::GroupNormConfig{.groups = 8, .channels = 64},
// in JSON "norm": {"GroupNorm": {"groups": 8, "channels": 64}}.
#pragma once
#include "kiln/nn/identity.hpp"
#include "kiln/nn/module/part_type.hpp"
#include "kiln/nn/norm/batch_norm.hpp"
#include "kiln/nn/norm/group_norm.hpp"
#include "kiln/nn/norm/layer_norm.hpp"
#include "kiln/nn/one_of.hpp"

namespace kiln::nn {

#define KILN_NORMALIZATIONS BatchNorm, GroupNorm, InstanceNorm, LayerNorm, LocalResponseNorm, RmsNorm, Identity

using Normalization = OneOf<KILN_NORMALIZATIONS>;
using NormalizationConfig = Normalization::Config;

/// The config with its size or channels set to `features` if they are not given.
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

/// The norms of a transformer's blocks: over the last dimension.
using SequenceNorm = OneOf<LayerNorm, RmsNorm>;

// Compiled in choices.cpp.
extern template class OneOf<KILN_NORMALIZATIONS>;
extern template class OneOf<LayerNorm, RmsNorm>;
extern template void each_part<Normalization>(void*, PartType::Visit);
extern template void each_part<SequenceNorm>(void*, PartType::Visit);

}  // namespace kiln::nn

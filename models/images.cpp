#include "models/images.hpp"

#include <algorithm>

namespace kiln::models {

Tensor<4> NormedConv::forward(const Tensor<4>& x) const { return norm.forward(conv.forward(x)); }

NormedConv NormedConvConfig::init(const Device& device) const {
  // This keeps the variance of the backward pass, as deep residual networks need it (He et al., 2015).
  const nn::init::KaimingNormal initializer{.fan_out = true};
  return {.conv = nn::Conv2dConfig{.in = in,
                                   .out = out,
                                   .kernel = {kernel},
                                   .stride = {stride},
                                   .padding = {kernel / 2},
                                   .groups = groups,
                                   .bias = false,
                                   .initializer = initializer}
                      .init(device),
          .norm = nn::BatchNormConfig{.channels = out}.init(device)};
}

void require_images(std::string_view model, const Tensor<4>& x, std::int64_t channels) {
  require<ShapeError>(!x.empty() && x.dim(1) == channels && x.dim(2) > 0 && x.dim(3) > 0, model,
                      ": images must be [batch, ", channels, ", height, width], got ", x);
}

void require_size(std::string_view config, std::string_view field, std::int64_t value) {
  require<ArgumentError>(value > 0 && value <= 1'000'000, config, ": ", field, " = ", value,
                         " must lie between 1 and 1000000");
}

}  // namespace kiln::models

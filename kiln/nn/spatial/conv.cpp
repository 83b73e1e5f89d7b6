#include "kiln/nn/spatial/conv.hpp"

#include "kiln/nn/spatial/spatial.hpp"

namespace kiln::nn {
namespace {

void require_positive(std::string_view layer, std::string_view option, const Spatial& entries) {
  for (const auto entry : entries)
    require<ArgumentError>(entry > 0, layer, ": ", option, " ", entries, " must be positive");
}

/// The checks and defaults that both configs share.
template <class Config>
ConvOptions complete(std::string_view layer, const Config& config, int dimensions) {
  require<ArgumentError>(config.in > 0 && config.out > 0, layer, ": in = ", config.in, " and out = ", config.out,
                         " must be positive");
  require<ArgumentError>(config.groups > 0 && config.in % config.groups == 0 && config.out % config.groups == 0, layer,
                         ": ", config.groups, " groups do not divide ", config.in, " and ", config.out, " channels");
  require<ArgumentError>(!config.kernel.empty(), layer, ": the kernel's size is missing");
  ConvOptions options;
  options.stride = per_dimension(layer, "stride", config.stride, dimensions, 1);
  options.padding = per_dimension(layer, "padding", config.padding, dimensions, 0);
  options.dilation = per_dimension(layer, "dilation", config.dilation, dimensions, 1);
  options.groups = config.groups;
  require_positive(layer, "stride", options.stride);
  require_positive(layer, "dilation", options.dilation);
  if constexpr (requires { config.padding_after; })
    if (!config.padding_after.empty())
      options.padding_after = per_dimension(layer, "padding_after", config.padding_after, dimensions, 0);
  for (const Spatial& padding : {options.padding, options.padding_after})
    for (const auto entry : padding)
      require<ArgumentError>(entry >= 0, layer, ": padding ", padding, " must not be negative");
  return options;
}

/// [first, second, kernel...]
Shape weight_shape(std::string_view layer, std::int64_t first, std::int64_t second, const Spatial& kernel,
                   int dimensions) {
  const Spatial sizes = per_dimension(layer, "kernel", kernel, dimensions, 1);
  require_positive(layer, "kernel", sizes);
  Shape shape{first, second};
  for (const auto size : sizes) shape.push_back(size);
  return shape;
}

template <class Layer, class Config>
Layer filled(const Config& config, const ConvOptions& options, const Shape& shape, const Device& device) {
  const Fans fans = fans_of(shape);
  Layer layer;
  layer.weight = decltype(layer.weight)(initialize(config.initializer, shape, fans, device));
  if (config.bias) layer.bias = Param<1>(initialize(kLayerDefault, {config.out}, fans, device));
  layer.stride = options.stride;
  layer.padding = options.padding;
  layer.dilation = options.dilation;
  layer.groups = options.groups;
  if constexpr (requires { layer.padding_after; }) layer.padding_after = options.padding_after;
  return layer;
}

}  // namespace

Value conv_with_border(const Value& x, const Value& weight, const Value& bias, ConvOptions options, bool same,
                       PadMode mode) {
  const int dimensions = weight.rank() - 2;
  if (same && x.rank() == weight.rank()) {
    const Shape& shape = weight.shape();
    Spatial kernel;
    for (int i = 2; i < shape.size(); ++i) kernel.push_back(shape[i]);
    const Border border = same_border(x.shape(), kernel, per_dimension("Conv", "stride", options.stride, dimensions, 1),
                                      per_dimension("Conv", "dilation", options.dilation, dimensions, 1));
    options.padding = border.before;
    options.padding_after = border.after;
  }
  if (mode == PadMode::Constant || x.rank() != weight.rank()) return conv(x, weight, bias, options);
  const Spatial before = per_dimension("Conv", "padding", options.padding, dimensions, 0);
  const Spatial after = options.padding_after.empty()
                            ? before
                            : per_dimension("Conv", "padding_after", options.padding_after, dimensions, 0);
  options.padding = options.padding_after = {};
  return conv(with_border(x, {before, after}, mode), weight, bias, options);
}

template <int N>
Conv<N> ConvConfig<N>::init(const Device& device) const {
  const std::string layer = text(Conv<N>::kName, "Config");
  const ConvOptions options = complete(layer, *this, N);
  require<ArgumentError>(!same || (padding.empty() && padding_after.empty()), layer,
                         ": same = true excludes other padding");
  auto result = filled<Conv<N>>(*this, options, weight_shape(layer, out, in / groups, kernel, N), device);
  result.same = same;
  result.padding_mode = padding_mode;
  return result;
}

template <int N>
ConvTranspose<N> ConvTransposeConfig<N>::init(const Device& device) const {
  const std::string layer = text(ConvTranspose<N>::kName, "Config");
  const ConvOptions options = complete(layer, *this, N);
  auto result = filled<ConvTranspose<N>>(*this, options, weight_shape(layer, in, out / groups, kernel, N), device);
  result.result_padding = per_dimension(layer, "result_padding", result_padding, N, 0);
  for (const std::int64_t size : result.result_padding)
    require<ArgumentError>(size >= 0, layer, ": result_padding = ", size, " must not be negative");
  return result;
}

DeformConv2d DeformConv2dConfig::init(const Device& device) const {
  const ConvOptions options = complete("DeformConv2dConfig", *this, 2);
  return filled<DeformConv2d>(*this, options, weight_shape("DeformConv2dConfig", out, in / groups, kernel, 2), device);
}

template struct ConvConfig<1>;
template struct ConvConfig<2>;
template struct ConvConfig<3>;
template struct ConvTransposeConfig<1>;
template struct ConvTransposeConfig<2>;
template struct ConvTransposeConfig<3>;

}  // namespace kiln::nn

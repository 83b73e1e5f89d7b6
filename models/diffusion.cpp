#include "models/diffusion.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kiln/tensor/arithmetic.hpp"
#include "kiln/tensor/assemble.hpp"
#include "kiln/tensor/attention.hpp"
#include "kiln/tensor/create.hpp"
#include "kiln/tensor/loss.hpp"
#include "models/images.hpp"

namespace kiln::models {
namespace {

nn::Conv2d conv3x3(std::int64_t in, std::int64_t out, std::int64_t stride, const Device& device) {
  return nn::Conv2dConfig{.in = in, .out = out, .kernel = {3}, .stride = {stride}, .padding = {1}}.init(device);
}

nn::GroupNorm norm_of(std::int64_t channels, const Device& device) {
  return nn::GroupNormConfig{.groups = 8, .channels = channels}.init(device);
}

Denoiser::Block block_of(std::int64_t in, std::int64_t out, std::int64_t context, const Device& device) {
  Denoiser::Block block{.norm1 = norm_of(in, device),
                        .conv1 = conv3x3(in, out, 1, device),
                        .context = nn::LinearConfig{.in = context, .out = out}.init(device),
                        .norm2 = norm_of(out, device),
                        .conv2 = conv3x3(out, out, 1, device),
                        .shortcut = {}};
  if (in != out) block.shortcut = nn::Conv2dConfig{.in = in, .out = out, .kernel = {1}}.init(device);
  return block;
}

/// Reshapes one number per image of a batch so that it multiplies the image.
Tensor<4> as_factor(const Tensor<1>& x) { return x.reshape(-1, 1, 1, 1); }

}  // namespace

std::vector<double> cosine_schedule(std::int64_t steps) {
  require_size("cosine_schedule", "steps", steps);
  constexpr double kOffset = 0.008, kLeast = 1e-5;  // kLeast avoids a division by 0
  const auto left = [&](double t) {
    return std::pow(std::cos((t + kOffset) / (1 + kOffset) * std::numbers::pi / 2), 2);
  };
  std::vector<double> kept;
  for (std::int64_t i = 1; i <= steps; ++i)
    kept.push_back(std::max(left(static_cast<double>(i) / static_cast<double>(steps)) / left(0), kLeast));
  return kept;
}

Tensor<4> Denoiser::Block::forward(const Tensor<4>& x, const Tensor<2>& condition) const {
  const Tensor<4> shift = context.forward(condition.silu()).unsqueeze(2, 3);
  const Tensor<4> inner = conv1.forward(norm1.forward(x).silu()) + shift;
  return conv2.forward(norm2.forward(inner).silu()) + (shortcut ? shortcut->forward(x) : x);
}

Tensor<4> Denoiser::forward(const Tensor<4>& x, const Tensor<1, Int>& steps, const Tensor<1, Int>& labels) const {
  require_images("Denoiser", x, stem.weight.dim(1));
  const std::int64_t multiple = std::int64_t{1} << shrink.size();
  require<ShapeError>(x.dim(2) % multiple == 0 && x.dim(3) % multiple == 0, "Denoiser: height and width of ", x,
                      " must be multiples of ", multiple, ", as they are halved ", shrink.size(), " times");
  const Tensor<2> condition = step2.forward(step1.forward(waves.select(0, steps)).silu()) + classes.forward(labels);
  std::vector<Tensor<4>> skips;  // the outputs of `down`, at each size
  Tensor<4> y = stem.forward(x);
  for (std::size_t i = 0; i < down.size(); ++i) {
    y = down[i].forward(i == 0 ? y : shrink[i - 1].forward(y), condition);
    skips.push_back(y);
  }
  y = middle.forward(y, condition);
  for (std::size_t i = up.size(); i-- > 0;) {
    y = up[i].forward(cat({y, skips[i]}, 1), condition);
    if (i > 0) y = grow[i - 1].forward(y);
  }
  return head.forward(norm.forward(y).silu());
}

Tensor<0> Denoiser::loss(const Tensor<4>& images, const Tensor<1, Int>& steps, const Tensor<1, Int>& labels,
                         const Tensor<4>& noise) const {
  const Tensor<1> left = kept.select(0, steps);
  const Tensor<4> noisy = images * as_factor(left.sqrt()) + noise * as_factor((1 - left).sqrt());
  return mse_loss(forward(noisy, steps, labels), noise);
}

Denoiser DenoiserConfig::init(const Device& device) const {
  require_size("DenoiserConfig", "channels", channels);
  require_size("DenoiserConfig", "classes", classes);
  require<ArgumentError>(!widths.empty(), "DenoiserConfig: widths must not be empty");
  for (const std::int64_t width : widths) {
    require_size("DenoiserConfig", "width", width);
    require<ArgumentError>(width % 8 == 0, "DenoiserConfig: width = ", width, " must be a multiple of 8");
  }
  const std::int64_t first = widths.front(), last = widths.back(), context = 4 * first;
  const std::vector<double> schedule = cosine_schedule(steps);
  Denoiser net;
  net.step1 = nn::LinearConfig{.in = first, .out = context}.init(device);
  net.step2 = nn::LinearConfig{.in = context, .out = context}.init(device);
  net.classes = nn::EmbeddingConfig{.count = classes + 1, .size = context}.init(device);
  net.stem = conv3x3(channels, first, 1, device);
  std::int64_t in = first;
  for (const std::int64_t width : widths) {
    if (!net.down.empty()) {
      net.shrink.push_back(conv3x3(in, in, 2, device));
      net.grow.push_back(
          nn::ConvTranspose2dConfig{.in = width, .out = in, .kernel = {4}, .stride = {2}, .padding = {1}}.init(device));
    }
    net.down.push_back(block_of(in, width, context, device));
    net.up.push_back(block_of(2 * width, width, context, device));
    in = width;
  }
  net.middle = block_of(last, last, context, device);
  net.norm = norm_of(first, device);
  net.head =
      nn::Conv2dConfig{.in = first, .out = channels, .kernel = {3}, .padding = {1}, .initializer = nn::init::Zeros{}}
          // at first the noise it predicts is 0
          .init(device);
  net.kept = Tensor<1>::of(schedule, device).to(DType::F32);
  net.waves = sinusoidal_positions(steps, first, device);
  return net;
}

Tensor<4> denoised(const Tensor<4>& noise, const std::vector<double>& kept, const NoiseAt& predict,
                   const SamplingOptions& options) {
  const auto all = static_cast<std::int64_t>(kept.size());
  require<ArgumentError>(options.steps > 0 && options.steps <= all, "denoised: ", options.steps,
                         " steps of a schedule that has ", all);
  Tensor<4> x = noise;
  for (std::int64_t i = options.steps; i-- > 0;) {
    const auto step_of = [&](std::int64_t k) { return (k + 1) * all / options.steps - 1; };
    const double now = kept[static_cast<std::size_t>(step_of(i))];
    const double next = i == 0 ? 1 : kept[static_cast<std::size_t>(step_of(i - 1))];
    const Tensor<4> guess = predict(x, step_of(i));
    Tensor<4> image = (x - guess * std::sqrt(1 - now)) * (1 / std::sqrt(now));
    if (options.clamp) image = image.clamp(-1.0, 1.0);
    // The rest of x is noise according to the predicted image; less of it is added back.
    const Tensor<4> rest = (x - image * std::sqrt(now)) * (1 / std::sqrt(1 - now));
    x = image * std::sqrt(next) + rest * std::sqrt(1 - next);
  }
  return x;
}

Tensor<4> denoised(const Denoiser& model, const Tensor<4>& noise, const Tensor<1, Int>& labels,
                   const SamplingOptions& options) {
  const auto predict = [&](const Tensor<4>& x, std::int64_t step) {
    const Tensor<1, Int> steps = full_like(labels, step);
    const Tensor<4> told = model.forward(x, steps, labels);
    if (options.guidance == 0) return told;
    const Tensor<4> any = model.forward(x, steps, full_like(labels, model.any_class()));
    return told + (told - any) * options.guidance;
  };
  return denoised(noise, model.kept.to_vector<double>(), predict, options);
}

}  // namespace kiln::models

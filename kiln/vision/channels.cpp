#include "kiln/vision/channels.hpp"

#include <algorithm>
#include <cmath>

#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/core/error/called_as.hpp"
#include "kiln/core/parallel.hpp"
#include "kiln/tensor/custom.hpp"
#include "kiln/vision/colour.hpp"
#include "kiln/vision/lines/stencil_lines.hpp"

namespace kiln::vision {
namespace {

/// x [batch, channels, height, width] of floats, in its type.
struct MixChannels {
  std::vector<double> weights;  // rows of channels + 1

  std::int64_t made(const Value& x) const { return std::ssize(weights) / (x.dim(1) + 1); }

  std::string name() const { return "mix_channels"; }
  Desc infer(Inputs in) const { return {{in[0].dim(0), made(in[0]), in[0].dim(2), in[0].dim(3)}, in[0].dtype()}; }
  Value expand(Inputs in) const {
    const Value& x = in[0];
    Values channels;
    const double* weight = weights.data();
    for (std::int64_t i = 0; i < made(x); ++i) {
      Value sum;
      for (std::int64_t k = 0; k < x.dim(1); ++k, ++weight)
        if (*weight != 0) sum = sum ? sum + narrow(x, 1, k, 1) * *weight : narrow(x, 1, k, 1) * *weight;
      const Value number = full({x.dim(0), 1, x.dim(2), x.dim(3)}, *weight, x.device(), x.dtype());
      channels.push_back(!sum ? number : *weight != 0 ? sum + *weight : sum);
      ++weight;
    }
    return channels.size() == 1 ? channels[0] : cat(channels, 1);
  }
  bool run(std::string_view backend, Call call) const {
    if (backend != "cpu" || call.out[0].dtype() != DType::F32) return false;
    Value held;
    const float* x = cpu::read_contiguous(call.in[0], held).as<const float>();
    float* y = cpu::allocate(call.out[0]).as<float>();
    const Shape &from = call.in[0].shape(), &to = call.out[0].shape();
    const std::int64_t pixels = from[2] * from[3], blocks = (pixels + kBlock - 1) / kBlock;
    const std::vector<float> numbers(weights.begin(), weights.end());
    parallel_for(from[0] * blocks, kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t image = i / blocks, first = i % blocks * kBlock;
        mix(numbers, {from[1], to[1], pixels, std::min(kBlock, pixels - first)}, x + image * from[1] * pixels + first,
            y + image * to[1] * pixels + first);
      }
    });
    return true;
  }

 private:
  static constexpr std::int64_t kBlock = 1024;  // pixels whose channels stay in the nearest cache
  static constexpr std::int64_t kGrain = 16;    // blocks

  struct Sizes {
    std::int64_t channels, made, stride, count;
  };
  static void mix(const std::vector<float>& numbers, const Sizes& sizes, const float* x, float* y) {
    // Whole vectors in place; the rest in memory of its own, as kernels go on to the end of a vector.
    const std::int64_t whole = sizes.count / kSlack * kSlack, rest = sizes.count - whole;
    std::vector<const float*> from(static_cast<std::size_t>(sizes.channels));
    const auto fold = [&](float* to, std::int64_t stride, std::int64_t count) {
      for (std::int64_t i = 0; i < sizes.made; ++i) {
        const float* const weights = &numbers[static_cast<std::size_t>(i * (sizes.channels + 1))];
        // A channel of weight 0 is not read: it may hold NaN.
        std::vector<const float*> read;
        std::vector<float> factors;
        for (std::size_t k = 0; k < from.size(); ++k)
          if (weights[k] != 0) read.push_back(from[k]), factors.push_back(weights[k]);
        if (read.empty()) {
          std::fill_n(to + i * stride, count, weights[sizes.channels]);
          continue;
        }
        fold_line({.fold = Fold::Sum,
                   .careful = false,
                   .from = read.data(),
                   .weights = factors.data(),
                   .taps = read.size(),
                   .scale = 1,
                   .delta = weights[sizes.channels]},
                  to + i * stride, count);
      }
    };
    for (std::int64_t k = 0; k < sizes.channels; ++k) from[static_cast<std::size_t>(k)] = x + k * sizes.stride;
    if (whole > 0) fold(y, sizes.stride, whole);
    if (rest == 0) return;
    std::vector<float> memory(static_cast<std::size_t>((sizes.channels + sizes.made) * kSlack));
    for (std::int64_t k = 0; k < sizes.channels; ++k) {
      std::copy_n(x + k * sizes.stride + whole, rest, &memory[static_cast<std::size_t>(k * kSlack)]);
      from[static_cast<std::size_t>(k)] = &memory[static_cast<std::size_t>(k * kSlack)];
    }
    float* const results = &memory[static_cast<std::size_t>(sizes.channels * kSlack)];
    fold(results, kSlack, rest);
    for (std::int64_t i = 0; i < sizes.made; ++i) std::copy_n(results + i * kSlack, rest, y + i * sizes.stride + whole);
  }
};

}  // namespace

Value mix_channels(const Value& x, std::span<const double> weights) {
  constexpr std::string_view name = "mix_channels";
  const CalledAs named("mix_channels");
  require_pictures(name, x);
  const std::int64_t row = x.dim(1) + 1;
  require<ArgumentError>(!weights.empty() && std::ssize(weights) % row == 0, name, ": ", weights.size(),
                         " weights are no rows of ", row, ", for ", x.dim(1), " channels and a number");
  for (const double weight : weights)
    require<ArgumentError>(std::isfinite(weight), name, ": the weight ", weight, " is not finite");
  const Value wide = cast(x, working_type(x.dtype()));
  const MixChannels op{{weights.begin(), weights.end()}};
  if (x.numel() == 0)
    return rounded_to(zeros({x.dim(0), op.made(x), x.dim(2), x.dim(3)}, x.device(), wide.dtype()), x.dtype());
  return rounded_to(wide.dtype() == DType::F32 ? custom_all(op, wide)[0] : op.expand({&wide, 1}), x.dtype());
}

}  // namespace kiln::vision

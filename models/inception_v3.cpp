#include "models/inception_v3.hpp"

#include <cmath>

#include "kiln/tensor/assemble.hpp"
#include "kiln/tensor/pool.hpp"

namespace kiln::models {
namespace {

constexpr std::int64_t kSmallestInception = 75;  // a smaller image has nothing left to pool
constexpr double kInceptionParts = 16;           // all numbers of channels are multiples of it

Tensor<4> run_inception(const Tensor<4>& x, std::initializer_list<const NormedConv*> convolutions) {
  Tensor<4> y = x;
  for (const NormedConv* conv : convolutions) y = conv->forward(y).relu();
  return y;
}

Tensor<4> pooled_inception(const Tensor<4>& x, InceptionPooling pooling) {
  PoolOptions options{.kernel = {3, 3}, .stride = {1, 1}, .padding = {1, 1}};
  if (pooling == InceptionPooling::Max) return max_pool(x, options);
  options.count_padding = pooling == InceptionPooling::Average;
  return avg_pool(x, options);
}

Tensor<4> halved_inception(const Tensor<4>& x) { return max_pool(x, {.kernel = {3, 3}, .stride = {2, 2}}); }

/// Makes convolutions whose numbers of channels are scaled.
struct InceptionMaker {
  const Device& device;
  double width;

  std::int64_t scaled(std::int64_t channels) const { return std::llround(static_cast<double>(channels) * width); }
  NormedConv from_images(std::int64_t in, std::int64_t out, Spatial kernel, Spatial stride, Spatial padding) const {
    return {.conv = nn::Conv2dConfig{.in = in,
                                     .out = scaled(out),
                                     .kernel = std::move(kernel),
                                     .stride = std::move(stride),
                                     .padding = std::move(padding),
                                     .bias = false,
                                     .initializer = nn::init::KaimingNormal{.fan_out = true}}
                        .init(device),
            .norm = nn::BatchNormConfig{.channels = scaled(out), .epsilon = 1e-3}.init(device)};
  }
  /// A convolution that keeps the size.
  NormedConv same(std::int64_t in, std::int64_t out, std::int64_t rows, std::int64_t columns) const {
    return from_images(scaled(in), out, {rows, columns}, {1}, {rows / 2, columns / 2});
  }
  NormedConv same(std::int64_t in, std::int64_t out, std::int64_t kernel) const {
    return same(in, out, kernel, kernel);
  }
  /// A 3x3 convolution without padding.
  NormedConv inner(std::int64_t in, std::int64_t out, std::int64_t stride) const {
    return from_images(scaled(in), out, {3}, {stride}, {0});
  }

  InceptionA a(std::int64_t in, std::int64_t pool, InceptionPooling pooling) const {
    return {same(in, 64, 1), same(in, 48, 1), same(48, 64, 5),   same(in, 64, 1),
            same(64, 96, 3), same(96, 96, 3), same(in, pool, 1), pooling};
  }
  InceptionB b(std::int64_t in) const {
    return {inner(in, 384, 2), same(in, 64, 1), same(64, 96, 3), inner(96, 96, 2)};
  }
  InceptionC c(std::int64_t in, std::int64_t mid, InceptionPooling pooling) const {
    return {same(in, 192, 1),
            same(in, mid, 1),
            same(mid, mid, 1, 7),
            same(mid, 192, 7, 1),
            same(in, mid, 1),
            same(mid, mid, 7, 1),
            same(mid, mid, 1, 7),
            same(mid, mid, 7, 1),
            same(mid, 192, 1, 7),
            same(in, 192, 1),
            pooling};
  }
  InceptionD d(std::int64_t in) const {
    return {same(in, 192, 1),     inner(192, 320, 2),   same(in, 192, 1),
            same(192, 192, 1, 7), same(192, 192, 7, 1), inner(192, 192, 2)};
  }
  InceptionE e(std::int64_t in, InceptionPooling pooling) const {
    return {same(in, 320, 1),  same(in, 384, 1),     same(384, 384, 1, 3), same(384, 384, 3, 1), same(in, 448, 1),
            same(448, 384, 3), same(384, 384, 1, 3), same(384, 384, 3, 1), same(in, 192, 1),     pooling};
  }
};

}  // namespace

Tensor<4> InceptionA::forward(const Tensor<4>& x) const {
  return cat({run_inception(x, {&branch1x1}), run_inception(x, {&branch5x5_1, &branch5x5_2}),
              run_inception(x, {&branch3x3dbl_1, &branch3x3dbl_2, &branch3x3dbl_3}),
              run_inception(pooled_inception(x, pooling), {&branch_pool})},
             1);
}

Tensor<4> InceptionB::forward(const Tensor<4>& x) const {
  return cat({run_inception(x, {&branch3x3}), run_inception(x, {&branch3x3dbl_1, &branch3x3dbl_2, &branch3x3dbl_3}),
              halved_inception(x)},
             1);
}

Tensor<4> InceptionC::forward(const Tensor<4>& x) const {
  return cat({run_inception(x, {&branch1x1}), run_inception(x, {&branch7x7_1, &branch7x7_2, &branch7x7_3}),
              run_inception(x, {&branch7x7dbl_1, &branch7x7dbl_2, &branch7x7dbl_3, &branch7x7dbl_4, &branch7x7dbl_5}),
              run_inception(pooled_inception(x, pooling), {&branch_pool})},
             1);
}

Tensor<4> InceptionD::forward(const Tensor<4>& x) const {
  return cat({run_inception(x, {&branch3x3_1, &branch3x3_2}),
              run_inception(x, {&branch7x7x3_1, &branch7x7x3_2, &branch7x7x3_3, &branch7x7x3_4}), halved_inception(x)},
             1);
}

Tensor<4> InceptionE::forward(const Tensor<4>& x) const {
  const Tensor<4> y = run_inception(x, {&branch3x3_1}), z = run_inception(x, {&branch3x3dbl_1, &branch3x3dbl_2});
  return cat({run_inception(x, {&branch1x1}), run_inception(y, {&branch3x3_2a}), run_inception(y, {&branch3x3_2b}),
              run_inception(z, {&branch3x3dbl_3a}), run_inception(z, {&branch3x3dbl_3b}),
              run_inception(pooled_inception(x, pooling), {&branch_pool})},
             1);
}

Tensor<2> InceptionV3::features(const Tensor<4>& images) const {
  require_images("InceptionV3", images, stem.at(0).conv.weight.dim(1));
  require<ShapeError>(images.dim(2) >= kSmallestInception && images.dim(3) >= kSmallestInception,
                      "InceptionV3: images must have ", kSmallestInception, " pixels or more in height and width, got ",
                      images);
  Tensor<4> x = halved_inception(run_inception(images, {&stem.at(0), &stem.at(1), &stem.at(2)}));
  x = halved_inception(run_inception(x, {&stem.at(3), &stem.at(4)}));
  for (const InceptionA& block : mixed5) x = block.forward(x);
  x = reduce6.forward(x);
  for (const InceptionC& block : mixed6) x = block.forward(x);
  x = reduce7.forward(x);
  for (const InceptionE& block : mixed7) x = block.forward(x);
  return x.mean(2, 3);
}

Tensor<2> InceptionV3::forward(const Tensor<4>& images) const {
  return head.forward(dropout.forward(features(images)));
}

InceptionV3 InceptionV3Config::init(const Device& device) const {
  require_size("InceptionV3Config", "classes", classes);
  require_size("InceptionV3Config", "channels", channels);
  require<ArgumentError>(width > 0 && width <= 16 && std::fmod(width * kInceptionParts, 1) == 0,
                         "InceptionV3Config: width = ", width, " must be a multiple of 1/16 between 1/16 and 16");
  const auto usual = fid ? InceptionPooling::AverageOfPixels : InceptionPooling::Average;
  const InceptionMaker make{device, width};
  InceptionV3 net;
  net.stem = {make.from_images(channels, 32, {3}, {2}, {0}), make.inner(32, 32, 1), make.same(32, 64, 3),
              make.same(64, 80, 1), make.inner(80, 192, 1)};
  net.mixed5 = {make.a(192, 32, usual), make.a(256, 64, usual), make.a(288, 64, usual)};
  net.reduce6 = make.b(288);
  for (const std::int64_t mid : {128, 160, 160, 192}) net.mixed6.push_back(make.c(768, mid, usual));
  net.reduce7 = make.d(768);
  net.mixed7 = {make.e(1280, usual), make.e(2048, fid ? InceptionPooling::Max : usual)};
  net.dropout = {.probability = dropout};
  net.head = nn::LinearConfig{.in = make.scaled(2048), .out = classes}.init(device);
  return net;
}

InceptionV3Config fid_inception() { return {.classes = 1008, .fid = true}; }

}  // namespace kiln::models

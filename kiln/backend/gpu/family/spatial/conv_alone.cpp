// Convolutions whose groups have few channels, each result separately: a thread sums over taps for y and x, a block
// over all pixels for an element of the weight.
#include "kiln/backend/gpu/family/spatial/conv.hpp"

namespace kiln::gpu::family {
namespace {

struct AloneKernel {
  ConvKey key;

  Kernel kernel() const {
    Builder k("conv_alone", kThreads);
    const Buffer left = k.input(key.dtype), right = k.input(key.dtype), made = k.output(key.dtype);
    const Buffer bias = key.biased ? k.input(key.dtype) : Buffer();
    const Expr count = k.number(key.index);
    const ConvNumbers n(k, key);
    const Expr zero = k.literal(key.index, 0), one = k.literal(key.index, 1);
    const Expr taps = k.literal(key.index, key.taps());
    const Local sum = k.variable(k.literal(expr::computed_in(key.dtype), 0));

    if (key.result == Convolved::Weight) {
      const Expr i = k.block().as(key.index);  // the element, in the memory order of the weight
      const Expr tap = key.channels_last ? i / n.in % taps : i % taps;
      const Expr channel = key.channels_last ? i % n.in : i / taps % n.in, filter = i / (n.in * taps);
      const Expr x_first = (filter / n.out * n.in + channel) * n.x_channel, y_first = filter * n.y_channel;
      const std::vector<Expr> reach = n.reach_of(tap);
      const Expr pixels = n.y_size();
      k.loop(k.thread().as(key.index), n.batch * pixels, k.literal(key.index, kThreads), [&](const Expr& pixel) {
        const std::vector<Expr> y = n.unravel_y(pixel % pixels);
        const Expr image = pixel / pixels;
        const auto met = n.x_of(y, reach);
        k.when(met.inside, [&] {
          Expr at = y_first + image * n.y_batch;
          for (std::size_t axis = 0; axis < y.size(); ++axis) at = at + y[axis] * n.y_strides[axis];
          sum.set(sum + left[at] * right[x_first + image * n.x_batch + met.at]);
        });
      });
      const Expr all = fold_block(k, sum, [](const Expr& a, const Expr& b) { return a + b; });
      k.when(k.thread() == 0, [&] { made.store(i, all); });
      return k.finish();
    }

    const bool to_y = key.result == Convolved::Y;
    const Expr i = k.place(key.index);
    k.when(i < count, [&] {
      const Expr pixels = to_y ? n.y_size() : n.x_size(), own = to_y ? n.out : n.in, channels = n.groups * own;
      const Expr channel = key.channels_last ? i % channels : i / pixels % channels;
      const Expr pixel = key.channels_last ? i / channels % pixels : i % pixels, image = i / (channels * pixels);
      const std::vector<Expr> places = to_y ? n.unravel_y(pixel) : n.unravel_x(pixel);
      const Expr group = channel / own, other = to_y ? n.in : n.out;
      const Expr image_at = image * (to_y ? n.x_batch : n.y_batch), channel_stride = to_y ? n.x_channel : n.y_channel;
      k.loop(zero, taps, one, [&](const Expr& tap) {
        const std::vector<Expr> reach = n.reach_of(tap);
        const auto met = to_y ? n.x_of(places, reach) : n.y_of(places, reach);
        k.when(met.inside, [&] {
          k.loop(zero, other, one, [&](const Expr& from) {
            const Expr weight =
                to_y ? n.weight_at(group, channel % own, from, tap) : n.weight_at(group, from, channel % own, tap);
            sum.set(sum + left[weight] * right[image_at + (group * other + from) * channel_stride + met.at]);
          });
        });
      });
      made.store(i, key.biased ? sum + bias[channel] : sum.get());
    });
    return k.finish();
  }
};

}  // namespace

void convolve_alone(Gpu& gpu, const Convolution& conv) {
  const bool of_weight = conv.result == Convolved::Weight;
  const Array& made = conv.made();
  std::vector<Argument> arguments{of_weight ? conv.y : conv.weight, conv.result == Convolved::X ? conv.y : conv.x,
                                  made};
  if (conv.bias) arguments.emplace_back(conv.bias);
  arguments.emplace_back(made.numel());
  ConvNumbers::append(arguments, conv);
  gpu.launch(AloneKernel{key_of(conv, 0)}, of_weight ? made.numel() : blocks_for(made.numel(), kThreads), arguments);
}

}  // namespace kiln::gpu::family

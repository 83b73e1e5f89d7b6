#include "kiln/backend/cpu/onednn/conv_direct.hpp"

#include <algorithm>

#include "kiln/backend/cpu/onednn/direct.hpp"
#include "kiln/backend/cpu/onednn/pieces.hpp"
#include "kiln/backend/cpu/signature.hpp"
#include "kiln/core/parallel.hpp"

namespace kiln::cpu::onednn {
namespace {

using std::int64_t;

/// Packed weights stay in the first-level cache.
constexpr int64_t kMostWeights = 6144;

bool direct_fits(const Geometry& g, DType dtype) {
  return dtype == DType::F32 && g.groups == 1 && g.kernel.size() == 2 && g.dilation[1] == 1 && g.out % 8 == 0 &&
         Geometry::product(g.kernel) * g.in * padded_channels(g.out) <= kMostWeights;
}

/// The convolution that is the adjoint in x: of y, with the kernel turned round. The stride must be 1, and the padding
/// less than the kernel's reach.
Geometry turned(const Geometry& g) {
  Geometry result = g;
  std::swap(result.in, result.out);
  std::swap(result.sizes, result.result);
  for (int i = 0; i < g.kernel.size(); ++i) result.padding[i] = g.reach(i) - 1 - g.padding[i];
  return result;
}

/// The images of x with columns of zeros where the kernel reaches over the edges; in place where it does not.
class Images {
 public:
  Images(const Geometry& g, const Array& x)
      : x_(x),
        rows_(g.sizes[0]),
        row_(g.sizes[1] * g.in),
        before_(g.padding[1] * g.in),
        padded_(std::max((g.result[1] - 1) * g.stride[1] * g.in + g.kernel[1] * g.in, before_ + row_)) {
    if (padded_ > row_) copy_.resize(static_cast<std::size_t>(rows_ * padded_));
  }
  int64_t row() const { return padded_; }
  /// Valid until the next.
  const float* image(int64_t i) {
    const float* from = x_.as<float>() + i * rows_ * row_;
    if (copy_.empty()) return from;
    for (int64_t row = 0; row < rows_; ++row)
      std::copy_n(from + row * row_, row_, copy_.data() + row * padded_ + before_);
    return copy_.data();
  }

 private:
  Array x_;
  int64_t rows_, row_, before_, padded_;
  std::vector<float> copy_;
};

DirectShape shape_of(const Geometry& g, int64_t x_row) {
  return {.rows = g.result[0],
          .columns = g.result[1],
          .x_rows = g.sizes[0],
          .x_row = x_row,
          .step = g.stride[1] * g.in,
          .kernel_rows = g.kernel[0],
          .taps = g.kernel[1] * g.in,
          .out = g.out,
          .out_padded = padded_channels(g.out),
          .row_stride = g.stride[0],
          .row_padding = g.padding[0],
          .row_dilation = g.dilation[0]};
}

/// Calls f(plain, packed) for every number of a weight: its place in [out, in, rows, columns] and in
/// [rows, columns, in, out_padded].
template <class F>
void each_weight(const Geometry& g, F&& f) {
  const int64_t padded = padded_channels(g.out), columns = g.kernel[1];
  int64_t plain = 0;
  for (int64_t o = 0; o < g.out; ++o)
    for (int64_t i = 0; i < g.in; ++i)
      for (int64_t row = 0; row < g.kernel[0]; ++row)
        for (int64_t column = 0; column < columns; ++column)
          f(plain++, ((row * columns + column) * g.in + i) * padded + o);
}

std::size_t packed_size(const Geometry& g) {
  return static_cast<std::size_t>(Geometry::product(g.kernel) * g.in * padded_channels(g.out));
}

/// `weight` as fill(numbers) orders it for the convolution `g`, which may be the adjoint of its own.
Ref<Memory> pack(const Geometry& g, const Operand& weight, FunctionRef<void(float*)> fill) {
  const Signature form(Packing::ConvDirect, reinterpret_cast<std::intptr_t>(weight.array.data), weight.array.shape,
                       g.out, g.in);
  const std::size_t count = packed_size(g);
  return packed(weight.value, form, count * sizeof(float), [&](std::byte* to) {
    auto* const numbers = reinterpret_cast<float*>(to);
    std::fill_n(numbers, count, 0.0f);
    fill(numbers);
  });
}

void convolve(const Geometry& g, const Array& x, const Memory& packed, const float* bias, const ConvResult& y) {
  std::vector<float> start(static_cast<std::size_t>(padded_channels(g.out)), 0.0f);
  if (bias) std::copy_n(bias, g.out, start.begin());
  const auto* const weight = reinterpret_cast<const float*>(packed.bytes());
  const int64_t image = Geometry::product(g.result) * g.out;
  parallel_for(g.batch, divide_up(g.batch, pieces(g.batch * g.cost())), [&](int64_t begin, int64_t end) {
    Images images(g, x);
    const DirectShape shape = shape_of(g, images.row());
    for (int64_t i = begin; i < end; ++i)
      y.piece(i * image, image, [&](std::byte* to) {
        direct_forward(shape, images.image(i), weight, start.data(), reinterpret_cast<float*>(to));
      });
  });
}

}  // namespace

// The bounds are where oneDNN catches up on Zen 4 and Zen 5.
bool direct_forward_fits(const Geometry& g, DType dtype) { return g.in <= 16 && g.out <= 32 && direct_fits(g, dtype); }

bool direct_data_fits(const Geometry& g, DType dtype) {
  for (int i = 0; i < g.kernel.size(); ++i)
    if (g.stride[i] != 1 || g.padding[i] >= g.reach(i) || g.padding_after[i] >= g.reach(i)) return false;
  return g.in <= 16 && g.out <= 32 && direct_fits(turned(g), dtype);
}

bool direct_weight_fits(const Geometry& g, DType dtype) { return g.in <= 16 && g.out <= 32 && direct_fits(g, dtype); }

void direct_conv(const Geometry& g, const Array& x, const Operand& weight, const Array* bias, const ConvResult& y) {
  const auto* const from = weight.array.as<float>();
  const Ref<Memory> packed = pack(
      g, weight, [&](float* to) { each_weight(g, [&](int64_t plain, int64_t place) { to[place] = from[plain]; }); });
  convolve(g, x, *packed, bias ? bias->as<float>() : nullptr, y);
}

void direct_conv_data(const Geometry& g, const Array& y, const Operand& weight, const ConvResult& x) {
  const Geometry adjoint = turned(g);
  const auto* const from = weight.array.as<float>();
  const int64_t taps = Geometry::product(g.kernel);
  const Ref<Memory> packed = pack(adjoint, weight, [&](float* to) {
    each_weight(adjoint, [&](int64_t plain, int64_t place) {
      // plain counts [in, out, taps]; the weight is [out, in, taps], and the kernel's last tap comes first
      const int64_t tap = plain % taps, o = plain / taps % g.out, i = plain / taps / g.out;
      to[place] = from[(o * g.in + i) * taps + taps - 1 - tap];
    });
  });
  convolve(adjoint, y, *packed, nullptr, x);
}

void direct_conv_weight(const Geometry& g, const Array& x, const Array& y, int64_t begin, int64_t end, float* weight) {
  std::vector<float> sums(packed_size(g), 0.0f);
  Images images(g, x);
  const DirectShape shape = shape_of(g, images.row());
  const int64_t image = Geometry::product(g.result) * g.out;
  for (int64_t i = begin; i < end; ++i) direct_weight(shape, images.image(i), y.as<float>() + i * image, sums.data());
  each_weight(g, [&](int64_t plain, int64_t place) { weight[plain] = sums[static_cast<std::size_t>(place)]; });
}

}  // namespace kiln::cpu::onednn

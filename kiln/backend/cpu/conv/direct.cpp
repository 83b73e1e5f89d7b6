#include "kiln/backend/cpu/conv/algorithms.hpp"

#include <algorithm>

#include "kiln/backend/cpu/conv/direct_image.hpp"
#include "kiln/backend/cpu/memory/packing.hpp"
#include "kiln/backend/cpu/pieces.hpp"
#include "kiln/core/parallel.hpp"

namespace kiln::cpu::conv {
namespace {

using std::int64_t;

/// The images of x, with columns of zeros if the kernel reaches beyond the edges; otherwise in place.
class Images {
 public:
  Images(const Geometry& g, const Array& x)
      : x_(x),
        rows_(g.sizes[0]),
        row_(g.sizes[1] * g.in),
        before_(g.padding[1] * g.in),
        padded_(std::max((g.result[1] - 1) * g.stride[1] * g.in + g.kernel[1] * g.in, before_ + row_)) {
    if (padded_ == row_) return;
    copy_ = make_ref<Memory>(static_cast<std::size_t>(rows_ * padded_) * sizeof(float));
    auto* const copy = reinterpret_cast<float*>(copy_->bytes());
    for (int64_t row = 0; row < rows_; ++row) {
      std::fill_n(copy + row * padded_, before_, 0.0f);
      std::fill(copy + row * padded_ + before_ + row_, copy + (row + 1) * padded_, 0.0f);
    }
  }
  int64_t row() const { return padded_; }
  /// The result is valid until the next call.
  const float* image(int64_t i) {
    const float* from = x_.as<float>() + i * rows_ * row_;
    if (!copy_) return from;
    auto* const copy = reinterpret_cast<float*>(copy_->bytes());
    for (int64_t row = 0; row < rows_; ++row) std::copy_n(from + row * row_, row_, copy + row * padded_ + before_);
    return copy;
  }

 private:
  Array x_;
  int64_t rows_, row_, before_, padded_;
  Ref<Memory> copy_;
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

/// The weight of a convolution in the order [rows, columns, in, padded out].
struct DirectWeight {
  int64_t out, in;
  Spatial kernel;

  std::size_t size() const { return static_cast<std::size_t>(Geometry::product(kernel) * in * padded_channels(out)); }
  /// Calls f(plain, packed) for every number: its index in [out, in, rows, columns] and in the packed order.
  template <class F>
  void each(F&& f) const {
    const int64_t padded = padded_channels(out), taps = Geometry::product(kernel);
    int64_t plain = 0;
    for (int64_t o = 0; o < out; ++o)
      for (int64_t i = 0; i < in; ++i)
        for (int64_t tap = 0; tap < taps; ++tap) f(plain++, (tap * in + i) * padded + o);
  }
};

/// Packs the weight [out, in, rows, columns] of float32 for the convolution itself. For the adjoint in x it packs that
/// convolution's weight [in, out, rows, columns] with the kernel flipped.
struct PackDirect {
  DirectWeight weight;
  bool adjoint;

  std::size_t bytes() const { return weight.size() * sizeof(float); }
  void pack(const std::byte* from, std::byte* to) const {
    const auto* const plain = reinterpret_cast<const float*>(from);
    auto* const packed = reinterpret_cast<float*>(to);
    std::fill_n(packed, weight.size(), 0.0f);
    const int64_t taps = Geometry::product(weight.kernel);
    weight.each([&](int64_t at, int64_t place) {
      const int64_t tap = at % taps, i = at / taps % weight.in, o = at / taps / weight.in;
      packed[place] = plain[adjoint ? (i * weight.out + o) * taps + taps - 1 - tap : at];
    });
  }
};

void convolve(const Geometry& g, const Array& x, const Memory& packed, const float* bias, const ConvResult& y) {
  std::vector<float> start(static_cast<std::size_t>(padded_channels(g.out)), 0.0f);
  if (bias) std::copy_n(bias, g.out, start.begin());
  const auto* const weight = reinterpret_cast<const float*>(packed.bytes());
  // A few images are divided into rows.
  const int64_t line = g.result[1] * g.out, all = g.batch * g.result[0] * line;
  const int64_t wanted =
      std::max(pieces(g.batch * g.cost()),
               std::min<int64_t>(all * static_cast<int64_t>(sizeof(float)) / kMinBytesPerThread, 16));
  const bool by_rows = g.batch < wanted && g.has_rows();
  const int64_t rows = by_rows ? divide_up(g.result[0], divide_up(wanted, g.batch)) : g.result[0];
  const int64_t slabs = divide_up(g.result[0], rows);
  parallel_for(g.batch * slabs, divide_up(g.batch * slabs, wanted), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = i % slabs * rows, last = std::min(g.result[0], row + rows);
      const Geometry part = by_rows ? g.rows(row, last) : g.images(1);
      Array from = x;
      from.data += (i / slabs * g.sizes[0] + (by_rows ? g.first_row(row) : 0)) * g.sizes[1] * g.in * sizeof(float);
      Images images(part, from);
      y.piece((i / slabs * g.result[0] + row) * line, (last - row) * line, [&](std::byte* to) {
        direct_kernels().forward(shape_of(part, images.row()), images.image(0), weight, start.data(),
                                 reinterpret_cast<float*>(to), y.finish());
      });
    }
  });
}

}  // namespace

void direct_conv(const Geometry& g, const Array& x, const ConvOperand& weight, const Array* bias, const ConvResult& y) {
  const Ref<Memory> packed = cpu::packed(weight.value, PackDirect{{g.out, g.in, g.kernel}, false});
  convolve(g, x, *packed, bias ? bias->as<float>() : nullptr, y);
}

void direct_conv_data(const Geometry& g, const Array& y, const ConvOperand& weight, const ConvResult& x) {
  const Geometry adjoint = g.flipped();
  const Ref<Memory> packed = cpu::packed(weight.value, PackDirect{{adjoint.out, adjoint.in, adjoint.kernel}, true});
  convolve(adjoint, y, *packed, nullptr, x);
}

void direct_conv_weight(const Geometry& g, const Array& x, const Array& y, float* weight) {
  const DirectWeight order{g.out, g.in, g.kernel};
  std::vector<float> sums(order.size(), 0.0f);
  Images images(g, x);
  const DirectShape shape = shape_of(g, images.row());
  const int64_t image = Geometry::product(g.result) * g.out;
  for (int64_t i = 0; i < g.batch; ++i)
    direct_kernels().weight(shape, images.image(i), y.as<float>() + i * image, sums.data());
  order.each([&](int64_t plain, int64_t place) { weight[plain] = sums[static_cast<std::size_t>(place)]; });
}

}  // namespace kiln::cpu::conv

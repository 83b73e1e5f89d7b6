// Fourier transforms. Signals are [..., 1] (real) or [..., 2] (pairs of real and imaginary parts).
#include "kiln/ops/signal/signal.hpp"

#include "kiln/onnx/operators/broadcast.hpp"
#include "kiln/ops/view/view.hpp"

namespace kiln::onnx {
namespace {

// x [..., 1 or 2] -> its spectrum along `dim`, which does not count the last one.
Value transform(const Value& x, int dim, std::optional<std::int64_t> length, bool inverse, bool onesided) {
  const FftOptions options{.n = length, .dim = dim};
  const bool real_parts = x.dim(-1) == 1;
  if (onesided && inverse) return unsqueeze(irfft(x, options), -1);
  if (onesided && real_parts) return rfft(squeeze(x, -1), options);
  const Value pairs = real_parts ? complex(squeeze(x, -1), zeros_like(squeeze(x, -1))) : x;
  const Value all = inverse ? ifft(pairs, options) : fft(pairs, options);
  return onesided ? narrow(all, dim, 0, all.dim(dim) / 2 + 1) : all;
}

Results fourier(Call& c) {
  const Value& x = c[0];
  c.check(x.rank() >= 2 && (x.dim(-1) == 1 || x.dim(-1) == 2), "a signal of shape ", x.shape());
  const std::int64_t axis = c.version() < 20 ? c.i("axis", 1) : c.has(2) ? c.integer(2) : -2;
  const int dim = c.dim(axis, x.rank());
  c.check(dim < x.rank() - 1, "axis ", axis, " is that of real and imaginary parts");
  std::optional<std::int64_t> length;
  if (c.has(1)) length = c.integer(1);
  c.check(!length || (*length > 0 && *length < (std::int64_t{1} << 32)), "dft_length is ", length.value_or(0));
  return of_type(transform(x, dim, length, c.i("inverse", 0) != 0, c.i("onesided", 0) != 0), x.dtype());
}

Results short_time_fourier(Call& c) {
  // Samples without a dimension of parts are real; PyTorch writes such files.
  const Value signal = c[0].rank() == 2 ? unsqueeze(c[0], -1) : c[0];
  c.check(signal.rank() == 3, "a signal of shape ", signal.shape());
  const std::int64_t step = c.integer(1);
  const std::int64_t length = c.has(3) ? c.integer(3) : c.has(2) ? c[2].numel() : 0;
  c.check(step > 0 && length > 0 && length <= signal.dim(1), "frames of ", length, " elements, ", step, " apart, of ",
          signal.shape());
  Value frames = permute(unfold(signal, 1, length, step), {0, 1, 3, 2});  // [batch, frames, length, parts]
  if (c.has(2)) frames = frames * reshape(c[2], {1, 1, length, 1});
  return of_type(transform(frames, 2, {}, false, c.i("onesided", 1) != 0), signal.dtype());
}

constexpr OperatorRow kSignalRows[] = {
    {"DFT", 17, fourier, {.folds = false}},
    {"STFT", 17, short_time_fourier, {.folds = false}},
};

}  // namespace

std::span<const OperatorRow> signal_rows() { return kSignalRows; }

}  // namespace kiln::onnx

#include "kiln/ops/signal/stft.hpp"

#include <algorithm>

#include "kiln/core/size.hpp"
#include "kiln/ops/signal/signal.hpp"
#include "kiln/ops/view/view.hpp"

namespace kiln {
namespace {

/// The options with defaults filled in, and the window padded to the width of the frame.
StftOptions complete(std::string_view function, StftOptions o, const Value& like) {
  require<ArgumentError>(o.n_fft >= 1, function, ": n_fft is ", o.n_fft, "; at least 1 is needed");
  if (o.hop_length == 0) o.hop_length = std::max<std::int64_t>(1, o.n_fft / 4);
  if (o.win_length == 0) o.win_length = o.n_fft;
  require<ArgumentError>(o.hop_length >= 1, function, ": a hop_length of ", o.hop_length);
  require<ArgumentError>(o.win_length >= 1 && o.win_length <= o.n_fft, function, ": a win_length of ", o.win_length,
                         " is not between 1 and n_fft, ", o.n_fft);
  if (o.window.empty()) o.window = ones({o.win_length}, like.device(), like.dtype());
  require<ShapeError>(o.window.shape() == Shape{o.win_length} && is_float(o.window.dtype()), function, ": the window ",
                      o.window, " must be floats of shape ", Shape{o.win_length});
  const std::int64_t before = (o.n_fft - o.win_length) / 2;
  o.window = cast(pad(o.window, {before}, {o.n_fft - o.win_length - before}), like.dtype());
  return o;
}

/// x with `size` more elements at either end of its last dimension.
Value extend(const Value& x, std::int64_t size, StftPadding padding) {
  const std::int64_t length = x.shape().back();
  if (size == 0) return x;
  if (padding == StftPadding::Constant) {
    Dims around = Dims::filled(x.rank(), 0);
    around[x.rank() - 1] = size;
    return pad(x, around, around);
  }
  const bool reaches = padding == StftPadding::Reflect ? size < length : length > 0;
  require<ShapeError>(reaches, "stft: ", x, " is too short to be continued by ", size, " elements",
                      padding == StftPadding::Reflect ? " of its mirror image" : "");
  TensorData index({add_sizes("stft", length, multiply_sizes("stft", 2, size))}, DType::I64);
  const auto places = index.as<std::int64_t>();
  for (std::int64_t i = -size; i < length + size; ++i) {
    std::int64_t place = i;
    switch (padding) {
      case StftPadding::Reflect: place = i < 0 ? -i : i < length ? i : 2 * (length - 1) - i; break;
      case StftPadding::Replicate: place = std::clamp<std::int64_t>(i, 0, length - 1); break;
      case StftPadding::Circular: place = ((i % length) + length) % length; break;
      case StftPadding::Constant: break;
    }
    places[static_cast<std::size_t>(i + size)] = place;
  }
  return select(x, -1, from_data(std::move(index), x.device()));
}

}  // namespace

Value stft(const Value& x, const StftOptions& options) {
  require<ArgumentError>(x && !x.is_scalar() && x.rank() >= 1, "stft: needs a signal [..., time], got ", x);
  const DType dtype = is_float(x.dtype()) ? x.dtype() : DType::F32;
  // Halves are computed in float32, and rounded once.
  const Value signal = cast(x, size_of(dtype) == 2 ? DType::F32 : dtype);
  const StftOptions o = complete("stft", options, signal);
  const Value extended = o.center ? extend(signal, o.n_fft / 2, o.pad) : signal;
  require<ShapeError>(extended.shape().back() >= o.n_fft, "stft: ", x, " is shorter than one frame of ", o.n_fft,
                      " elements");
  const Value frames = unfold(extended, -1, o.n_fft, o.hop_length) * o.window;
  const FftNorm norm = o.normalized ? FftNorm::Ortho : FftNorm::Backward;
  const Value spectra = o.onesided ? rfft(frames, {.norm = norm}) : fft(complex(frames, 0), {.norm = norm});
  return cast(transpose(spectra, -3, -2), dtype);
}

Value istft(const Value& z, const StftOptions& options) {
  require<ShapeError>(z && z.rank() >= 3 && z.shape().back() == 2 && is_float(z.dtype()),
                      "istft: needs floats [..., frequency, frame, 2], got ", z);
  const Value spectra = size_of(z.dtype()) == 2 ? cast(z, DType::F32) : z;
  const StftOptions o = complete("istft", options, spectra);
  const std::int64_t frequencies = o.onesided ? o.n_fft / 2 + 1 : o.n_fft, frames = z.dim(-2);
  require<ShapeError>(z.dim(-3) == frequencies, "istft: ", z, " has ", z.dim(-3), " frequencies; with n_fft ", o.n_fft,
                      o.onesided ? " and onesided" : "", " there are ", frequencies);
  require<ShapeError>(frames >= 1, "istft: ", z, " has no frames");

  const Value turned = transpose(spectra, -3, -2);
  const FftNorm norm = o.normalized ? FftNorm::Ortho : FftNorm::Backward;
  const Value pieces = o.onesided ? irfft(turned, {.n = o.n_fft, .norm = norm}) : real(ifft(turned, {.norm = norm}));
  const std::int64_t total = add_sizes("istft", o.n_fft, multiply_sizes("istft", o.hop_length, frames - 1));
  const std::int64_t start = o.center ? o.n_fft / 2 : 0;
  const std::int64_t reach = total - 2 * start, length = o.length.value_or(reach);
  require<ArgumentError>(length >= 0 && length <= total - start, "istft: ", frames, " frames give at most ",
                         total - start, " elements, not ", length);
  const Value sum = narrow(fold(pieces * o.window, -1, total, o.hop_length), -1, start, length);
  const Value squares = expand(square(o.window), {frames, o.n_fft});
  const Value weight = narrow(fold(squares, -1, total, o.hop_length), -1, start, length);
  return cast(sum / where(gt(weight, 1e-11), weight, 1), z.dtype());
}

}  // namespace kiln

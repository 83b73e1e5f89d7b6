#include "kiln/data/sound/spectra.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <vector>

#include "kiln/core/error/error.hpp"
#include "kiln/ops/elementwise/numbers.hpp"
#include "kiln/ops/elementwise/powers.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/spatial/conv.hpp"
#include "kiln/ops/special/functions.hpp"

namespace kiln {
namespace {

constexpr double kPi = std::numbers::pi;
// Slaney's scale: 15 mels for the first 1000 Hz; then 27 for each factor of 6.4.
constexpr double kLinearHz = 1000, kLinearMels = 15;
double slaney_step() { return std::log(6.4) / 27; }

double mel_of(double hz, MelScale scale) {
  if (scale == MelScale::Htk) return 2595 * std::log10(1 + hz / 700);
  return hz < kLinearHz ? hz * kLinearMels / kLinearHz : kLinearMels + std::log(hz / kLinearHz) / slaney_step();
}
double hz_of(double mel, MelScale scale) {
  if (scale == MelScale::Htk) return 700 * (std::pow(10, mel / 2595) - 1);
  return mel < kLinearMels ? mel * kLinearHz / kLinearMels : kLinearHz * std::exp((mel - kLinearMels) * slaney_step());
}

MelOptions checked(MelOptions options) {
  const auto positive = [](std::string_view name, auto value) {
    require<ArgumentError>(value >= 1, "mel spectrogram: ", name, " is ", value, ", it must be at least 1");
  };
  positive("sample_rate", options.sample_rate);
  positive("n_fft", options.n_fft);
  positive("n_mels", options.n_mels);
  if (options.win_length == 0) options.win_length = options.n_fft;
  positive("win_length", options.win_length);
  if (options.hop_length == 0) options.hop_length = std::max<std::int64_t>(options.win_length / 2, 1);
  positive("hop_length", options.hop_length);
  if (options.f_max == 0) options.f_max = static_cast<double>(options.sample_rate / 2);
  require<ArgumentError>(options.f_min >= 0 && options.f_min < options.f_max && std::isfinite(options.f_max),
                         "mel spectrogram: frequencies from ", options.f_min, " to ", options.f_max, " Hz");
  require<ArgumentError>(options.power > 0 && std::isfinite(options.power), "mel spectrogram: power is ", options.power,
                         ", it must be positive and finite");
  return options;
}

Value to_value(const std::vector<double>& numbers, const Shape& shape, const Device& device, DType dtype) {
  return from_data(TensorData::of<double>(shape, std::span<const double>(numbers)).to(dtype), device);
}

/// [..., time] -> [sounds, time]
Value flat(const Value& x) { return reshape(x, {-1, x.shape().back()}); }
/// [sounds, ...] -> [the leading dimensions of x, ...]
Value unflat(const Value& y, const Value& x) {
  Shape shape = x.shape();
  shape.pop_back();
  const Shape own = y.shape();
  for (int i = 1; i < static_cast<int>(own.size()); ++i) shape.push_back(own[i]);
  return reshape(y, shape);
}

void require_sound(std::string_view who, const Value& x) {
  require<ShapeError>(x.shape().size() >= 1 && x.shape().back() >= 1, who, ": a sound is [..., time], not ", x.shape());
}

}  // namespace

Tensor<2> mel_filters(const MelOptions& given, const Device& device, DType dtype) {
  const MelOptions options = checked(given);
  const std::int64_t frequencies = options.n_fft / 2 + 1, mels = options.n_mels;
  const double least = mel_of(options.f_min, options.mel_scale), most = mel_of(options.f_max, options.mel_scale);
  std::vector<double> edges;
  for (std::int64_t i = 0; i < mels + 2; ++i)
    edges.push_back(
        hz_of(least + (most - least) * static_cast<double>(i) / static_cast<double>(mels + 1), options.mel_scale));
  const double nyquist = static_cast<double>(options.sample_rate / 2);
  std::vector<double> filters;
  filters.reserve(static_cast<std::size_t>(mels * frequencies));
  for (std::size_t m = 0; m < static_cast<std::size_t>(mels); ++m) {
    const double low = edges[m], middle = edges[m + 1], high = edges[m + 2];
    bool is_empty = true;
    for (std::int64_t f = 0; f < frequencies; ++f) {
      const double hz = frequencies > 1 ? nyquist * static_cast<double>(f) / static_cast<double>(frequencies - 1) : 0;
      const double height = std::max(0.0, std::min((hz - low) / (middle - low), (high - hz) / (high - middle)));
      is_empty = is_empty && height == 0;
      filters.push_back(options.slaney_norm ? height * 2 / (high - low) : height);
    }
    require<ArgumentError>(!is_empty, "mel spectrogram: no frequency lies between ", low, " and ", high,
                           " Hz, where filter ", m, " is: n_fft = ", options.n_fft, " is too small, or n_mels = ", mels,
                           " too large");
  }
  return Tensor<2>(to_value(filters, {mels, frequencies}, device, dtype));
}

Value mel_spectrogram(const Value& x, const MelOptions& given) {
  require_sound("mel spectrogram", x);
  const MelOptions options = checked(given);
  const Value window = hann_window(options.win_length, x.device(), {.dtype = x.dtype()}).value();
  const Value z = stft(flat(x), {.n_fft = options.n_fft,
                                 .hop_length = options.hop_length,
                                 .win_length = options.win_length,
                                 .window = window,
                                 .center = options.center,
                                 .pad = options.pad_mode});
  const Value squares = sum(z * z, {3});
  const Value spectrum = options.power == 2   ? squares
                         : options.power == 1 ? sqrt_or_zero(squares)
                                              : power_of_size(squares, options.power / 2);
  return unflat(matmul(mel_filters(options, x.device(), x.dtype()).value(), spectrum), x);
}

Value to_decibels(const Value& x, const DecibelOptions& options) {
  require<ArgumentError>(options.least > 0 && options.reference > 0, "decibels: least = ", options.least,
                         " and reference = ", options.reference, " must be positive");
  require<ArgumentError>(!options.range || *options.range >= 0, "decibels: range = ", options.range.value_or(0),
                         " must not be negative");
  const Value loudness = log10(clamp_min(x, options.least)) * options.multiplier -
                         options.multiplier * std::log10(std::max(options.least, options.reference));
  if (!options.range) return loudness;
  require<ShapeError>(x.shape().size() >= 2, "decibels: a range is of [..., mels, frames], not ", x.shape());
  const Dims dims = x.shape().size() > 2 ? Dims{-3, -2, -1} : Dims{-2, -1};
  return maximum(loudness, max(loudness, dims, true) - *options.range);
}

Value mfcc(const Value& x, const MfccOptions& options) {
  const std::int64_t mels = options.mel.n_mels;
  require<ArgumentError>(options.n_mfcc >= 1 && options.n_mfcc <= mels, "mfcc: ", options.n_mfcc, " coefficients of ",
                         mels, " mels: there are at most as many");
  const Value spectrum = mel_spectrogram(x, options.mel);
  const Value loudness = options.log_mels ? log(spectrum + 1e-6) : to_decibels(spectrum, {.range = 80});
  // The orthonormal cosine transform (its second kind), of which the first rows are kept.
  std::vector<double> transform;
  for (std::int64_t k = 0; k < options.n_mfcc; ++k)
    for (std::int64_t m = 0; m < mels; ++m)
      transform.push_back(
          std::cos(kPi / static_cast<double>(mels) * (static_cast<double>(m) + 0.5) * static_cast<double>(k)) *
          std::sqrt((k == 0 ? 1.0 : 2.0) / static_cast<double>(mels)));
  return matmul(to_value(transform, {options.n_mfcc, mels}, x.device(), x.dtype()), loudness);
}

namespace {

double window_at(double t, const ResampleOptions& options) {
  const auto width = static_cast<double>(options.lowpass_filter_width);
  if (!options.kaiser_beta) {
    const double cosine = std::cos(t * kPi / width / 2);
    return cosine * cosine;
  }
  const double inner = 1 - (t / width) * (t / width);
  // The ratio of two modified Bessel functions, each of them scaled.
  const double beta = *options.kaiser_beta, at = beta * std::sqrt(std::max(inner, 0.0));
  return special::i0e(at) / special::i0e(beta) * std::exp(std::abs(at) - std::abs(beta));
}

/// A filter for each of the `to` places between two elements: [to, 1, 2 * width + from].
std::vector<double> sinc_filters(std::int64_t from, std::int64_t to, std::int64_t width, double rate,
                                 const ResampleOptions& options) {
  const auto most = static_cast<double>(options.lowpass_filter_width);
  std::vector<double> filters;
  filters.reserve(static_cast<std::size_t>(to * (2 * width + from)));
  for (std::int64_t place = 0; place < to; ++place)
    for (std::int64_t i = -width; i < width + from; ++i) {
      const double at =
          static_cast<double>(i) / static_cast<double>(from) - static_cast<double>(place) / static_cast<double>(to);
      const double t = std::clamp(at * rate, -most, most);
      const double sinc = t == 0 ? 1 : std::sin(t * kPi) / (t * kPi);
      filters.push_back(sinc * window_at(t, options) * rate / static_cast<double>(from));
    }
  return filters;
}

}  // namespace

Value resample(const Value& x, std::int64_t from, std::int64_t to, const ResampleOptions& options) {
  require<ArgumentError>(from >= 1 && to >= 1, "resample: from ", from, " to ", to, ": rates are at least 1");
  require<ArgumentError>(options.lowpass_filter_width >= 1 && options.lowpass_filter_width <= 1 << 16,
                         "resample: lowpass_filter_width is ", options.lowpass_filter_width, ", it must be 1 to 65536");
  require<ArgumentError>(options.rolloff > 0 && options.rolloff <= 1, "resample: rolloff is ", options.rolloff,
                         ", it must be above 0 and at most 1");
  require<ArgumentError>(!options.kaiser_beta || (*options.kaiser_beta >= 0 && *options.kaiser_beta <= 500),
                         "resample: kaiser_beta is ", options.kaiser_beta.value_or(0), ", it must be 0 to 500");
  require_sound("resample", x);
  if (from == to) return x;
  const std::int64_t common = std::gcd(from, to);
  from /= common;
  to /= common;
  const double rate = static_cast<double>(std::min(from, to)) * options.rolloff;
  const double wide = std::ceil(static_cast<double>(options.lowpass_filter_width) * static_cast<double>(from) / rate);
  require<ArgumentError>((2 * wide + static_cast<double>(from)) * static_cast<double>(to) <= 0x1p28,
                         "resample: the ratio ", to, " / ", from,
                         " needs a filter that is too large: choose rates with a "
                         "larger common divisor");
  const auto width = static_cast<std::int64_t>(wide);
  const Value filters =
      to_value(sinc_filters(from, to, width, rate, options), {to, 1, 2 * width + from}, x.device(), x.dtype());
  const Value sounds = flat(x);
  const std::int64_t count = sounds.shape()[0], time = sounds.shape()[1];
  const Value padded = reshape(pad(sounds, {0, width}, {0, width + from}), {count, 1, time + 2 * width + from});
  const Value places = conv(padded, filters, {}, {.stride = {from}});  // [sounds, to, steps]
  const std::int64_t wanted = (time / from) * to + ((time % from) * to + from - 1) / from;
  return unflat(narrow(reshape(transpose(places, 1, 2), {count, -1}), 1, 0, wanted), x);
}

}  // namespace kiln

// Spectrograms on the scale of hearing, and sounds at another rate; names and meanings of options are torchaudio's. All
// are made of differentiable operations.
//
//   const Tensor<2> x(...);                                  // [sounds, time]
//   const Tensor<3> y = mel_spectrogram(resample(x, 44'100, 16'000), {.n_fft = 400, .n_mels = 80});
//   const Tensor<3> loudness = to_decibels(y, {.range = 80});
#pragma once
#include <cstdint>
#include <optional>

#include "kiln/tensor/signal.hpp"
#include "kiln/tensor/tensor.hpp"

namespace kiln {

/// Htk: 2595 log10(1 + f / 700). Slaney: linear up to 1000 Hz, then logarithmic (the Auditory Toolbox's).
enum class MelScale : std::uint8_t { Htk, Slaney };

struct MelOptions {
  std::int64_t sample_rate = 16'000;
  std::int64_t n_fft = 400;
  std::int64_t win_length = 0;  // 0: n_fft
  std::int64_t hop_length = 0;  // 0: half of win_length
  double f_min = 0, f_max = 0;  // Hz; f_max 0: half of sample_rate
  std::int64_t n_mels = 80;
  double power = 2;  // 1: magnitudes; 2: their squares
  MelScale mel_scale = MelScale::Htk;
  bool slaney_norm = false;  // divides each filter by its width
  bool center = true;        // see StftOptions
  StftPadding pad_mode = StftPadding::Reflect;
};

/// Triangles over the frequencies of a spectrum, which overlap by half: [n_mels, frequencies], with
/// n_fft / 2 + 1 frequencies from 0 to half of the sample rate. Throws ArgumentError for options without meaning, and for
/// filters between which no frequency lies: they are all 0, and more of n_fft or fewer of n_mels is needed.
Tensor<2> mel_filters(const MelOptions& options, const Device& device, DType dtype = DType::F32);

struct DecibelOptions {
  double multiplier = 10;         // 10 for powers, 20 for magnitudes
  double least = 1e-10;           // of x, which is not taken smaller
  double reference = 1;           // of which the result is 0
  std::optional<double> range{};  // decibels below the loudest of each sound that are kept
};

struct MfccOptions {
  std::int64_t n_mfcc = 40;
  bool log_mels = false;  // log(x + 1e-6) in place of decibels within 80 of the loudest
  MelOptions mel{};
};

struct ResampleOptions {
  std::int64_t lowpass_filter_width = 6;  // zeros of the sinc on either side: more are steeper
  double rolloff = 0.99;                  // the edge of the filter, as a share of the lower of both Nyquist frequencies
  std::optional<double> kaiser_beta{};    // a Kaiser window, such as 14.77; otherwise a Hann window
};

// ---- of values: the leading dimensions are sounds, or channels --------------------------------------------------------
Value mel_spectrogram(const Value& x, const MelOptions& options);
Value to_decibels(const Value& x, const DecibelOptions& options);
Value mfcc(const Value& x, const MfccOptions& options);
Value resample(const Value& x, std::int64_t from, std::int64_t to, const ResampleOptions& options);

/// x [..., time] -> [..., n_mels, frames]
template <int D>
Tensor<D + 1> mel_spectrogram(const Tensor<D>& x, const MelOptions& options = {}) {
  return Typed{mel_spectrogram(x.value(), options)};
}
/// multiplier * log10(x / reference). A `range` is below the loudest of the last two dimensions and, from three dimensions on,
/// of the channels before them: x [..., channels, mels, frames].
template <int D>
Tensor<D> to_decibels(const Tensor<D>& x, const DecibelOptions& options = {}) {
  return Typed{to_decibels(x.value(), options)};
}
/// Mel-frequency cepstral coefficients: the cosine transform of the decibels of mel_spectrogram():
/// x [..., time] -> [..., n_mfcc, frames]
template <int D>
Tensor<D + 1> mfcc(const Tensor<D>& x, const MfccOptions& options = {}) {
  return Typed{mfcc(x.value(), options)};
}
/// From a rate to another, by a windowed sinc: x [..., time] -> [..., ceil(time * to / from)]. Throws ArgumentError for rates
/// below 1, and where their ratio needs a filter of more than 2^28 numbers.
template <int D>
Tensor<D> resample(const Tensor<D>& x, std::int64_t from, std::int64_t to, const ResampleOptions& options = {}) {
  return Typed{resample(x.value(), from, to, options)};
}

}  // namespace kiln

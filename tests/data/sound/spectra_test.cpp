// Spectrograms and resampling against torchaudio (torchaudio_figures.py), and against its formulas by numpy
// (spectra_figures.py).
#include "kiln/data/sound/spectra.hpp"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "kiln/autodiff/backward.hpp"
#include "kiln/core/config/config.hpp"

#include "tests/data/raised.hpp"

namespace kiln {
namespace {

using test::raised;

struct Case {
  std::string what;
  std::int64_t sample_rate = 16'000, win_length = 0, hop_length = 0;
  double f_min = 0, f_max = 0, power = 2;
  bool slaney = false, norm = false, center = true, log_mels = false;
  std::int64_t n_mfcc = 0, source = 0, target = 0, width = 6;
  double rolloff = 0.99;
  std::optional<double> beta{};
  std::vector<std::int64_t> shape;
  std::vector<double> result;
};
struct Figures {
  std::string made_with;
  std::vector<double> x;
  std::vector<Case> cases;
};

const Figures& figures() {
  static const auto read = load_config<Figures>(KILN_SOUND_FIGURES "/spectra_figures.json");
  return read;
}

MelOptions mel_of(const Case& c) {
  return {.sample_rate = c.sample_rate,
          .n_fft = 64,
          .win_length = c.win_length,
          .hop_length = c.hop_length,
          .f_min = c.f_min,
          .f_max = c.f_max,
          .n_mels = 8,
          .power = c.power,
          .mel_scale = c.slaney ? MelScale::Slaney : MelScale::Htk,
          .slaney_norm = c.norm,
          .center = c.center};
}

/// What Kiln makes of a sound [..., time].
Value made(const Case& c, const Value& x) {
  if (c.what == "mel") return mel_spectrogram(x, mel_of(c));
  if (c.what == "mfcc") return mfcc(x, {.n_mfcc = c.n_mfcc, .log_mels = c.log_mels, .mel = mel_of(c)});
  return resample(x, c.source, c.target,
                  {.lowpass_filter_width = c.width, .rolloff = c.rolloff, .kaiser_beta = c.beta});
}

void expect_all(const Figures& figures) {
  const auto time = std::ssize(figures.x);
  const TensorData sound = TensorData::of<double>({time}, std::span<const double>(figures.x));
  for (const DType dtype : {DType::F64, DType::F32})
    for (const Case& c : figures.cases) {
      SCOPED_TRACE(text(c.what, ' ', c.source, ' ', c.power, ' ', dtype));
      const Value x = from_data(sound.to(dtype), Device::cpu()), y = made(c, x);
      TensorData expected(Shape(c.shape.begin(), c.shape.end()), DType::F64);
      std::ranges::copy(c.result, expected.as<double>().begin());
      const double relative = dtype == DType::F64 ? 1e-9 : 2e-4;
      EXPECT_EQ(difference(y.data().to(DType::F64), expected, {.relative = relative, .absolute = relative}), "");
      // Leading dimensions are sounds by themselves; a shift by silence alone would show if they met.
      const Value both = made(c, reshape(cat(Values{x, x * 0.5}, 0), {2, 1, time}));
      EXPECT_EQ(both.shape().size(), y.shape().size() + 2);
      EXPECT_EQ(
          difference(reshape(narrow(both, 0, 0, 1), y.shape()).data(), y.data(), {.relative = 1e-4, .absolute = 1e-4}),
          "");
    }
}

TEST(Spectra, AreThoseOfTorchaudio) {
  const auto torchaudio = load_config<Figures>(KILN_SOUND_FIGURES "/torchaudio_figures.json");
  ASSERT_EQ(torchaudio.cases.size(), 14u);
  expect_all(torchaudio);
}

TEST(Spectra, AreThoseOfTorchaudiosFormulas) {
  ASSERT_EQ(figures().cases.size(), 10u);
  expect_all(figures());
}

TEST(Spectra, HaveGradients) {
  const Device device = Device::cpu().autodiff();
  std::vector<double> numbers(figures().x.begin(), figures().x.begin() + 100);
  for (const Case& c : {figures().cases[0], figures().cases[4], figures().cases[7]}) {
    const auto loss = [&](const std::vector<double>& x) {
      return sum(made(c, Tensor<1>::of(x, device).value())).item();
    };
    const auto x = Tensor<1>::of(numbers, device).require_grad();
    const auto grads = Tensor<0>(sum(made(c, x.value()))).backward();
    const auto gradient = grads.of(x).to_vector<double>();
    for (const std::size_t at : {0u, 41u, 99u}) {
      auto more = numbers, less = numbers;
      more[at] += 1e-5;
      less[at] -= 1e-5;
      EXPECT_NEAR(gradient[at], (loss(more) - loss(less)) / 2e-5, 1e-4) << c.what << ' ' << at;
    }
  }
}

TEST(Spectra, HaveNoSlopeInSilence) {
  for (const double power : {1.0, 1.5, 2.0}) {
    const Value x = zeros({2000}, Device::cpu().autodiff()).require_grad();
    const Value slope = backward(sum(mel_spectrogram(x, {.n_fft = 1024, .power = power}))).of(x);
    EXPECT_EQ(difference(slope.data(), TensorData::of<float>({2000}, std::vector<float>(2000))), "") << power;
  }
}

TEST(Spectra, KeepDecibelsWithinARange) {
  const auto x = Tensor<2>::of({{1.0, 100.0}, {1e-20, 1e-3}}, Device::cpu(), DType::F64);
  EXPECT_EQ(difference(to_decibels(x).data(), TensorData::of<double>({2, 2}, {0, 20, -100, -30})), "");
  EXPECT_EQ(difference(to_decibels(x, {.multiplier = 20, .reference = 10, .range = 60}).data(),
                       TensorData::of<double>({2, 2}, {-20, 20, -40, -40})),
            "");
  // The loudest of each sound, over all of its channels.
  const auto sounds = Tensor<4>::of(std::vector<double>{1, 10, 100, 1000}, {2, 2, 1, 1}, Device::cpu());
  EXPECT_EQ(difference(to_decibels(sounds, {.range = 5}).data(), TensorData::of<double>({2, 2, 1, 1}, {5, 10, 25, 30})),
            "");
}

TEST(Spectra, RefuseWhatMeansNothing) {
  const auto x = Tensor<1>::ones({100}, Device::cpu());
  EXPECT_EQ(
      raised<ArgumentError>([&] { mel_spectrogram(x, {.n_fft = 64}); }),
      "mel spectrogram: no frequency lies between 0 and 44.9391276 Hz, where filter 0 is: n_fft = 64 is too small, or "
      "n_mels = 80 too large");
  EXPECT_EQ(raised<ArgumentError>([&] { mel_spectrogram(x, {.n_fft = 0}); }),
            "mel spectrogram: n_fft is 0, it must be at least 1");
  EXPECT_EQ(raised<ArgumentError>([&] { mel_spectrogram(x, {.f_min = 9000}); }),
            "mel spectrogram: frequencies from 9000 to 8000 Hz");
  EXPECT_EQ(raised<ArgumentError>([&] { mfcc(x, {.n_mfcc = 81}); }),
            "mfcc: 81 coefficients of 80 mels: there are at most as many");
  EXPECT_EQ(raised<ArgumentError>([&] { resample(x, 0, 1); }), "resample: from 0 to 1: rates are at least 1");
  EXPECT_EQ(raised<ArgumentError>([&] { resample(x, 1'000'003, 1'000'000); }),
            "resample: the ratio 1000000 / 1000003 needs a filter that is too large: choose rates with a larger common "
            "divisor");
  EXPECT_EQ(raised<ArgumentError>([&] { resample(x, 1, 2, {.rolloff = 0}); }),
            "resample: rolloff is 0, it must be above 0 and at most 1");
  EXPECT_EQ(raised<ShapeError>([&] { resample(Tensor<1>::ones({0}, Device::cpu()), 1, 2); }),
            "resample: a sound is [..., time], not [0]");
  EXPECT_EQ(resample(x, 7, 7).shape(), (Shape{100}));
}

}  // namespace
}  // namespace kiln

// Spectra and windows as users call them. Figures by hand, from closed forms, and from SciPy 1.17.
#include "kiln/tensor/signal.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kiln/core/parallel.hpp"
#include "kiln/tensor/arithmetic.hpp"
#include "kiln/tensor/create.hpp"
#include "tests/support/sentence.hpp"

namespace kiln {
namespace {

void expect_near(const auto& actual, const std::vector<double>& expected, double tolerance = 1e-6) {
  const auto found = actual.data().template to_vector<double>();
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], tolerance) << "element " << i;
}

TEST(Signal, HasTheSpectrumOfACosineAtItsFrequency) {
  const Device device = Device::cpu();
  const Tensor<1> t = arange(0.0, 8.0, device);
  const Tensor<1> x = (t * (2 * std::numbers::pi * 2 / 8)).cos();
  expect_near(complex_abs(rfft(x)), {0, 0, 4, 0, 0});
  expect_near(irfft(rfft(x)), x.to_vector<double>());
  expect_near(rfftfreq(8, device, 0.5), {0, 0.25, 0.5, 0.75, 1});
  expect_near(fftfreq(5, device), {0, 0.2, 0.4, -0.4, -0.2});
}

TEST(Signal, ConvolvesByMultiplyingSpectra) {
  const auto x = Tensor<1>::of({1, 2, 3, 4}, Device::cpu()), y = Tensor<1>::of({1, 0, -1}, Device::cpu());
  const FftOptions six{.n = 6};
  expect_near(irfft(complex_mul(rfft(x, six), rfft(y, six)), six), {1, 2, 2, 2, -3, -4});
}

TEST(Signal, ComputesInPairs) {
  const auto z = Tensor<2>::of({{3, 4}, {0, 0}, {0, -2}}, Device::cpu().autodiff()).require_grad();
  expect_near(complex_abs(z), {5, 0, 2});
  expect_near(angle(conj(z)), {-std::atan2(4, 3), 0, std::numbers::pi / 2});
  expect_near(complex_abs(z).sum().backward().of(z), {0.6, 0.8, 0, 0, 0, -1});
  const auto r = Tensor<1>::of({2, 1}, Device::cpu()), phi = Tensor<1>::of({0, std::numbers::pi / 2}, Device::cpu());
  expect_near(polar(r, phi), {2, 0, 0, 1});
  expect_near(real(complex(r, phi)), {2, 1});
  expect_near(imag(complex(r, r)), {2, 1});
}

TEST(Signal, ShiftsTheMiddleToTheFront) {
  const auto x = Tensor<1>::of({0, 1, 2, -2, -1}, Device::cpu());
  expect_near(fftshift(x, 0), {-2, -1, 0, 1, 2});
  expect_near(ifftshift(fftshift(x, -1), -1), {0, 1, 2, -2, -1});
}

TEST(Signal, KeepsNaNInItsLine) {
  const double nan = std::nan("");
  const auto z = rfft(Tensor<2>::of({{1, nan, 3, 4}, {1, 2, 3, 4}}, Device::cpu())).to_vector<double>();
  for (std::size_t i = 0; i < 2; ++i) EXPECT_TRUE(std::isnan(z[i]));
  for (std::size_t i = 6; i < 12; ++i) EXPECT_FALSE(std::isnan(z[i]));
}

TEST(Signal, TransformsIntegersAsFloatsAndNothingToNothing) {
  const auto x = Tensor<1, Int>::of({1, 2, 3}, Device::cpu());
  EXPECT_EQ(rfft(x.value()).dtype(), DType::F32);
  EXPECT_EQ(rfft(zeros({0, 4}, Device::cpu())).shape(), (Shape{0, 3, 2}));
}

// exp(2 pi i 3 j / n) is n at frequency 3 and nothing elsewhere; so are the two halves of the real parts.
TEST(Signal, TransformsLongLinesOnAnyNumberOfThreads) {
  const int before = num_threads();
  for (const std::int64_t n : {65536, 3 * 5 * 7 * 1024, 100003, 70001}) {
    std::vector<double> wave;
    for (std::int64_t j = 0; j < n; ++j) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(3 * j % n) / static_cast<double>(n);
      wave.insert(wave.end(), {std::cos(angle), std::sin(angle)});
    }
    const auto z = Tensor<2>::of(wave, {n, 2}, Device::cpu());
    std::vector<double> whole(wave.size(), 0.0), half(static_cast<std::size_t>(n / 2 + 1) * 2, 0.0);
    whole[6] = static_cast<double>(n);
    half[6] = static_cast<double>(n) / 2;
    set_num_threads(1);
    const TensorData one = fft(z).data(), real_one = rfft(real(z)).data();
    EXPECT_EQ(difference(one, TensorData::of<double>({n, 2}, whole), {0, 1e-7}), "") << n;
    EXPECT_EQ(difference(real_one, TensorData::of<double>({n / 2 + 1, 2}, half), {0, 1e-7}), "") << n;
    EXPECT_EQ(difference(irfft(rfft(real(z)), {.n = n}).data(), real(z).data(), {0, 1e-12}), "") << n;
    set_num_threads(3);
    const TensorData again = fft(z).data(), real_again = rfft(real(z)).data();
    EXPECT_TRUE(std::ranges::equal(again.bytes(), one.bytes())) << n;
    EXPECT_TRUE(std::ranges::equal(real_again.bytes(), real_one.bytes())) << n;
  }
  set_num_threads(before);
}

TEST(Windows, HaveTheFiguresOfSciPy) {
  const Device device = Device::cpu();
  const WindowOptions symmetric{.periodic = false, .dtype = DType::F64};
  expect_near(hann_window(4, device), {0, 0.5, 1, 0.5});
  expect_near(hann_window(5, device, symmetric), {0, 0.5, 1, 0.5, 0});
  expect_near(hamming_window(4, device), {0.08, 0.54, 1, 0.54});
  expect_near(hamming_window(4, device, symmetric), {0.08, 0.77, 0.77, 0.08});
  expect_near(blackman_window(4, device), {0, 0.34, 1, 0.34});
  expect_near(blackman_window(6, device, symmetric),
              {0, 0.2007701432625305, 0.8492298567374694, 0.8492298567374694, 0.2007701432625305, 0}, 1e-12);
  expect_near(bartlett_window(4, device), {0, 0.5, 1, 0.5});
  expect_near(bartlett_window(4, device, symmetric), {0, 2.0 / 3, 2.0 / 3, 0});
  expect_near(kaiser_window(5, 8.6, device, symmetric),
              {0.0013325139979024198, 0.34039362244018856, 1.0, 0.34039362244018856, 0.0013325139979024198}, 1e-12);
  expect_near(kaiser_window(4, 12, device, {.dtype = DType::F64}),
              {5.2773441320097665e-05, 0.2156727447589671, 1.0, 0.2156727447589671}, 1e-12);
  expect_near(gaussian_window(5, 1.5, device, symmetric),
              {0.41111229050718745, 0.8007374029168081, 1.0, 0.8007374029168081, 0.41111229050718745}, 1e-12);
  expect_near(gaussian_window(4, 1, device, {.dtype = DType::F64}),
              {0.1353352832366127, 0.6065306597126334, 1.0, 0.6065306597126334}, 1e-12);
  EXPECT_EQ(hann_window(0, device).shape(), Shape{0});
  expect_near(hann_window(1, device), {1});
}

TEST(Windows, SayWhatIsWrong) {
  const Device device = Device::cpu();
  EXPECT_EQ(sentence_of([&] { return hann_window(-1, device); }), "ArgumentError: hann_window: a size of -1");
  EXPECT_EQ(sentence_of([&] { return bartlett_window(4, device, {.dtype = DType::I64}); }),
            "DTypeError: bartlett_window: int64 cannot hold a window");
  EXPECT_EQ(sentence_of([&] { return kaiser_window(4, -1, device); }),
            "ArgumentError: kaiser_window: a beta of -1 is not between 0 and 700");
  EXPECT_EQ(sentence_of([&] { return gaussian_window(4, 0, device); }),
            "ArgumentError: gaussian_window: a standard deviation of 0");
  EXPECT_EQ(sentence_of([&] { return rfftfreq(0, device); }),
            "ArgumentError: rfftfreq: a length of 0; at least 1 is needed");
}

// Each transform and the one that undoes it.
TEST(Signal, IsUndoneByItsInverse) {
  const auto x = uniform({2, 3, 5}, -1, 1, Device::cpu(), Key{3}).to(DType::F64);
  const auto z = complex(x, x * 2 + 1);
  const auto same = [](const auto& actual, const auto& expected) {
    EXPECT_EQ(difference(actual.data(), expected.data(), {0, 1e-12}), "");
  };
  same(ifft(fft(z)), z);
  same(ifft2(fft2(z)), z);
  same(ifftn(fftn(z)), z);
  same(irfft(rfft(x), {.n = 5}), x);
  same(irfft2(rfft2(x), {.sizes = {3, 5}}), x);
  same(irfftn(rfftn(x), {.sizes = {2, 3, 5}}), x);
  for (const int type : {2, 3}) same(idct(dct(x, {.type = type}), {.type = type}), x);
  same(real(hilbert(x)), x);
}

TEST(Stft, IsUndoneExactly) {
  const Device device = Device::cpu();
  const auto x = uniform({2, 1000}, -1, 1, device, Key{1}).to(DType::F64);
  for (StftOptions options : {StftOptions{.n_fft = 64, .hop_length = 16},
                              {.n_fft = 64, .hop_length = 20, .win_length = 50},
                              {.n_fft = 45, .hop_length = 9, .normalized = true, .onesided = false},
                              {.n_fft = 64, .hop_length = 16, .pad = StftPadding::Constant}}) {
    options.window =
        hann_window(options.win_length ? options.win_length : options.n_fft, device, {.dtype = DType::F64});
    options.length = 1000;
    const Tensor<4> spectra = stft(x, options);
    EXPECT_EQ(difference(istft(spectra, options).data(), x.data(), {1e-12, 1e-12}), "");
  }
}

TEST(Stft, LeavesWhatNoWindowCoversAtZero) {
  const auto x = ones({20}, Device::cpu());
  const StftOptions options{.n_fft = 8, .hop_length = 4, .window = hann_window(8, Device::cpu()), .center = false};
  const auto back = istft(stft(x, options), options).to_vector<double>();
  EXPECT_EQ(back[0], 0);  // where the first window begins
  for (std::size_t i = 1; i < 20; ++i) EXPECT_NEAR(back[i], 1, 1e-5);
}

}  // namespace
}  // namespace kiln

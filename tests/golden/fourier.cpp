#include "kiln/ops/signal/signal.hpp"
#include "kiln/ops/signal/stft.hpp"
#include "kiln/tensor/window.hpp"
#include "tests/golden/golden.hpp"

namespace kiln::golden {
namespace {

const Device cpu = Device::cpu();
const WindowOptions kPeriodic{.periodic = true, .dtype = DType::F64},
    kSymmetric{.periodic = false, .dtype = DType::F64};

/// A window of the element type of x, on its device.
Value hann(std::int64_t size, const Value& x) { return hann_window(size, x.device(), {.dtype = x.dtype()}).value(); }

const Rows kTransforms({
    {"fft.8", [](In in) { return fft(in[0], {.dim = 0}); }},
    {"fft.15", [](In in) { return fft(in[0], {.dim = 0}); }},
    {"fft.17", [](In in) { return fft(in[0], {.dim = 0}); }},
    {"rfft.8", [](In in) { return rfft(in[0]); }},
    {"rfft.15", [](In in) { return rfft(in[0]); }},
    {"rfft.17", [](In in) { return rfft(in[0]); }},
    {"fft.backward", [](In in) { return fft(in[0]); }},
    {"fft.ortho", [](In in) { return fft(in[0], {.norm = FftNorm::Ortho}); }},
    {"fft.forward", [](In in) { return fft(in[0], {.norm = FftNorm::Forward}); }},
    {"ifft.backward", [](In in) { return ifft(in[0]); }},
    {"ifft.ortho", [](In in) { return ifft(in[0], {.norm = FftNorm::Ortho}); }},
    {"ifft.forward", [](In in) { return ifft(in[0], {.norm = FftNorm::Forward}); }},
    {"fft.cropped", [](In in) { return fft(in[0], {.n = 5, .dim = 0}); }},
    {"rfft.padded", [](In in) { return rfft(in[0], {.n = 8}); }},
    {"irfft", [](In in) { return irfft(in[0]); }},
    {"irfft.odd", [](In in) { return irfft(in[0], {.n = 9}); }},
    {"fft2", [](In in) { return fft2(in[0]); }},
    {"ifft2", [](In in) { return ifft2(in[0]); }},
    {"rfft2", [](In in) { return rfft2(in[0]); }},
    {"irfft2", [](In in) { return irfft2(in[0]); }},
    {"fftn", [](In in) { return fftn(in[0]); }},
    {"fftshift", [](In in) { return fftshift(in[0], {0, 1}); }},
    {"ifftshift", [](In in) { return ifftshift(in[0], {0, 1}); }},
    {"fftfreq", [](In) { return fftfreq(7, cpu, 0.5, DType::F64).value(); }},
    {"rfftfreq", [](In) { return rfftfreq(8, cpu, 0.5, DType::F64).value(); }},
    {"complex_abs", [](In in) { return complex_abs(in[0]); }},
    {"angle", [](In in) { return angle(in[0]); }},
    {"complex_mul", [](In in) { return complex_mul(in[0], in[1]); }},
    {"polar", [](In in) { return polar(in[0], in[1]); }},
    {"dct", [](In in) { return dct(in[0]); }},
    {"dct.ortho", [](In in) { return dct(in[0], {.ortho = true}); }},
    {"dct.3", [](In in) { return dct(in[0], {.type = 3}); }},
    {"idct", [](In in) { return idct(in[0]); }},
    {"hilbert", [](In in) { return hilbert(in[0]); }},
});

const Rows kFrames({
    {"stft", [](In in) { return stft(in[0], {.n_fft = 8, .hop_length = 2, .window = hann(8, in[0])}); }},
    {"stft.plain",
     [](In in) {
       return stft(in[0], {.n_fft = 8, .hop_length = 4, .center = false, .normalized = true, .onesided = false});
     }},
    {"stft.short_window",
     [](In in) {
       return stft(
           in[0],
           {.n_fft = 8, .hop_length = 3, .win_length = 6, .window = hann(6, in[0]), .pad = StftPadding::Constant});
     }},
    {"istft", [](In in) { return istft(in[0], {.n_fft = 8, .hop_length = 2, .window = hann(8, in[0])}); }},
});

const Rows kWindows({
    {"hann_window", [](In) { return hann_window(7, cpu, kPeriodic).value(); }},
    {"hann_window.symmetric", [](In) { return hann_window(8, cpu, kSymmetric).value(); }},
    {"hamming_window", [](In) { return hamming_window(7, cpu, kPeriodic).value(); }},
    {"hamming_window.symmetric", [](In) { return hamming_window(8, cpu, kSymmetric).value(); }},
    {"blackman_window", [](In) { return blackman_window(7, cpu, kPeriodic).value(); }},
    {"blackman_window.symmetric", [](In) { return blackman_window(8, cpu, kSymmetric).value(); }},
    {"bartlett_window", [](In) { return bartlett_window(7, cpu, kPeriodic).value(); }},
    {"bartlett_window.symmetric", [](In) { return bartlett_window(8, cpu, kSymmetric).value(); }},
    {"kaiser_window", [](In) { return kaiser_window(9, 6.0, cpu, kPeriodic).value(); }},
    {"gaussian_window", [](In) { return gaussian_window(9, 1.5, cpu, kSymmetric).value(); }},
});

}  // namespace
}  // namespace kiln::golden

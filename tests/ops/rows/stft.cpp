// Short-time transforms against the sums that define them.
#include "kiln/ops/signal/stft.hpp"

#include <cmath>

#include "tests/ops/harness.hpp"
#include "tests/ops/rows/dft.hpp"

namespace kiln::test {
namespace {

double continued(const std::vector<double>& x, std::int64_t i, StftPadding padding) {
  const auto length = static_cast<std::int64_t>(x.size());
  if (i >= 0 && i < length) return x[static_cast<std::size_t>(i)];
  switch (padding) {
    case StftPadding::Constant: return 0;
    case StftPadding::Replicate: return i < 0 ? x.front() : x.back();
    case StftPadding::Circular: return x[static_cast<std::size_t>((i + length) % length)];
    case StftPadding::Reflect: return x[static_cast<std::size_t>(i < 0 ? -i : 2 * length - 2 - i)];
  }
  return 0;
}

struct Frames {
  std::int64_t n, hop, win;
  std::vector<double> window;  // as wide as the frame
};
Frames frames_of(const StftOptions& o, const Array& window) {
  Frames f{.n = o.n_fft,
           .hop = o.hop_length ? o.hop_length : o.n_fft / 4,
           .win = o.win_length ? o.win_length : o.n_fft,
           .window = {}};
  for (std::int64_t j = 0; j < f.n; ++j) {
    const std::int64_t at = j - (f.n - f.win) / 2;
    f.window.push_back(at >= 0 && at < f.win ? window.v[static_cast<std::size_t>(at)] : 0);
  }
  return f;
}

std::vector<OperandSpec> operands_of(const Shape& shape, const StftOptions& options) {
  return {{shape}, {{options.win_length ? options.win_length : options.n_fft}, 0.5, 1.5}};
}
StftOptions with_window(StftOptions options, const Value& window) {
  options.window = window;
  return options;
}

/// Operands: signal [batch, time], window.
OpCase stft_row(std::string name, const Shape& shape, StftOptions options) {
  return {.name = std::move(name),
          .operands = operands_of(shape, options),
          .function = [=](const Values& in) { return Values{stft(in[0], with_window(options, in[1]))}; },
          .meaning =
              [=](const std::vector<Array>& in) {
                const Frames f = frames_of(options, in[1]);
                const std::int64_t time = shape[1], before = options.center ? f.n / 2 : 0;
                const std::int64_t count = 1 + (time + 2 * before - f.n) / f.hop;
                const std::int64_t frequencies = options.onesided ? f.n / 2 + 1 : f.n;
                Array z({shape[0], frequencies, count, 2});
                for (std::int64_t b = 0; b < shape[0]; ++b) {
                  const std::vector<double> x(in[0].v.begin() + b * time, in[0].v.begin() + (b + 1) * time);
                  for (std::int64_t frame = 0; frame < count; ++frame)
                    for (std::int64_t k = 0; k < frequencies; ++k) {
                      Complex sum = 0;
                      for (std::int64_t j = 0; j < f.n; ++j)
                        sum += continued(x, frame * f.hop + j - before, options.pad) *
                               f.window[static_cast<std::size_t>(j)] * std::conj(turn(j * k, f.n));
                      if (options.normalized) sum /= std::sqrt(static_cast<double>(f.n));
                      z({b, k, frame, 0}) = sum.real();
                      z({b, k, frame, 1}) = sum.imag();
                    }
                }
                return std::vector<Array>{z};
              },
          .tolerance = 4};
}

/// Operands: spectra [batch, frequencies, frames, 2], window.
OpCase istft_row(std::string name, const Shape& shape, StftOptions options) {
  return {.name = std::move(name),
          .operands = operands_of(shape, options),
          .function = [=](const Values& in) { return Values{istft(in[0], with_window(options, in[1]))}; },
          .meaning =
              [=](const std::vector<Array>& in) {
                const Frames f = frames_of(options, in[1]);
                const std::int64_t count = shape[2], total = f.n + f.hop * (count - 1);
                const std::int64_t start = options.center ? f.n / 2 : 0;
                const std::int64_t length = options.length.value_or(total - 2 * start);
                Array x({shape[0], length});
                for (std::int64_t b = 0; b < shape[0]; ++b) {
                  std::vector<double> sum(static_cast<std::size_t>(total)), weight = sum;
                  for (std::int64_t frame = 0; frame < count; ++frame) {
                    Line line;
                    for (std::int64_t k = 0; k < shape[1]; ++k)
                      line.emplace_back(in[0]({b, k, frame, 0}), in[0]({b, k, frame, 1}));
                    if (options.onesided) {
                      line[0] = line[0].real();
                      if (f.n % 2 == 0) line.back() = line.back().real();
                      for (std::int64_t k = f.n / 2 + 1; k < f.n; ++k)
                        line.push_back(std::conj(line[static_cast<std::size_t>(f.n - k)]));
                    }
                    const Line piece = transform(line, f.n, 1);
                    const double scale =
                        options.normalized ? std::sqrt(static_cast<double>(f.n)) : static_cast<double>(f.n);
                    for (std::int64_t j = 0; j < f.n; ++j) {
                      const double w = f.window[static_cast<std::size_t>(j)];
                      const auto at = static_cast<std::size_t>(frame * f.hop + j);
                      sum[at] += piece[static_cast<std::size_t>(j)].real() / scale * w;
                      weight[at] += w * w;
                    }
                  }
                  for (std::int64_t i = 0; i < length; ++i) {
                    const auto at = static_cast<std::size_t>(start + i);
                    x({b, i}) = weight[at] > 0 ? sum[at] / weight[at] : 0;
                  }
                }
                return std::vector<Array>{x};
              },
          .tolerance = 4};
}

std::vector<OpCase> stft_rows() {
  std::vector<OpCase> rows;
  const auto add = [&](OpCase row) { rows.push_back(std::move(row)); };
  add(stft_row("stft", {2, 20}, {.n_fft = 8}));
  add(stft_row("stft_hop", {1, 23}, {.n_fft = 8, .hop_length = 3, .normalized = true}));
  add(stft_row("stft_short_window", {1, 18}, {.n_fft = 8, .hop_length = 4, .win_length = 5}));
  add(stft_row("stft_plain", {2, 17}, {.n_fft = 6, .hop_length = 2, .center = false}));
  add(stft_row("stft_of_zeros_beyond", {1, 12}, {.n_fft = 6, .hop_length = 3, .pad = StftPadding::Constant}));
  add(stft_row("stft_replicate", {1, 12}, {.n_fft = 6, .hop_length = 3, .pad = StftPadding::Replicate}));
  add(stft_row("stft_circular", {1, 12}, {.n_fft = 6, .hop_length = 3, .pad = StftPadding::Circular}));
  add(stft_row("stft_two_sided", {1, 14}, {.n_fft = 7, .hop_length = 3, .onesided = false}));
  add(istft_row("istft", {2, 5, 6, 2}, {.n_fft = 8}));
  add(istft_row("istft_normalized", {1, 4, 5, 2}, {.n_fft = 6, .hop_length = 2, .normalized = true}));
  add(istft_row("istft_plain", {1, 4, 4, 2}, {.n_fft = 7, .hop_length = 3, .center = false}));
  add(istft_row("istft_two_sided", {1, 6, 4, 2}, {.n_fft = 6, .hop_length = 2, .onesided = false}));
  add(istft_row("istft_of_length", {1, 5, 4, 2}, {.n_fft = 8, .hop_length = 3, .length = 9}));
  add(istft_row("istft_short_window", {1, 5, 4, 2}, {.n_fft = 8, .hop_length = 2, .win_length = 5}));
  return rows;
}

const Family kStft(&stft_rows);

}  // namespace
}  // namespace kiln::test

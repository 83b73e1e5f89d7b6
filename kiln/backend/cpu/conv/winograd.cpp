#include "kiln/backend/cpu/conv/algorithms.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "kiln/backend/cpu/conv/winograd_transforms.hpp"
#include "kiln/backend/cpu/memory/packing.hpp"
#include "kiln/backend/cpu/pieces.hpp"
#include "kiln/backend/cpu/simd/product/product_tiles.hpp"
#include "kiln/core/parallel.hpp"

namespace kiln::cpu::conv {
namespace {

using std::int64_t;

constexpr int64_t kPlaces = kWinogradPlaces, kTaps = 9, kUnit = 16;  // channels of the transforms

/// Packs a weight [out, in, 3, 3] of float32 in panels of channels: for each panel and transformed element, a row for
/// each channel of x. `flipped`: the weight is [in, out, 3, 3], and the kernel is flipped.
struct PackWinograd {
  int64_t out, in, panel;
  bool flipped;

  int64_t count() const { return divide_up(out, panel); }
  int64_t size() const { return kPlaces * in * panel; }
  std::size_t bytes() const { return static_cast<std::size_t>(count() * size()) * sizeof(float); }

  void pack(const std::byte* from, std::byte* to) const {
    const int64_t units = in / kUnit;
    parallel_for(count() * units, divide_up(kMinOpsPerThread / 32, kUnit * kPlaces * panel),
                 [&](int64_t begin, int64_t end) {
                   std::vector<float> aside(static_cast<std::size_t>(kUnit * kTaps * panel), 0.0f);
                   for (int64_t i = begin; i < end; ++i)
                     pack(reinterpret_cast<const float*>(from), i / units, i % units * kUnit, aside.data(),
                          reinterpret_cast<float*>(to) + i / units * size());
                 });
  }

 private:
  /// Transforms kUnit channels of x.
  void pack(const float* from, int64_t index, int64_t channel, float* aside, float* to) const {
    const int64_t first = index * panel, lanes = std::min(panel, out - first), taps = kTaps * panel;
    const auto& tiles = simd::product_tiles<float>();
    if (lanes < panel) std::fill_n(aside, kUnit * taps, 0.0f);
    if (!flipped)
      tiles.transpose(from + (first * in + channel) * kTaps, in * kTaps, aside, panel, lanes, kUnit * kTaps);
    for (int64_t i = 0; i < kUnit; ++i) {
      float* const own = aside + i * taps;
      if (flipped) tiles.transpose(from + ((channel + i) * out + first) * kTaps, kTaps, own, panel, lanes, kTaps);
      winograd_transforms().weight(flipped ? own + taps - panel : own, flipped ? -panel : panel, panel,
                                   to + (channel + i) * panel, in * panel);
    }
  }
};

/// The rows of tiles and panels of a piece. They depend on the sizes alone.
struct TaskSize {
  int64_t across, down, in_all;  // tiles of a row, rows of an image, rows of all images
  int64_t rows, panels;

  TaskSize(const Geometry& g, int64_t all_panels, bool whole_rows)
      : across(divide_up(g.result[1], 2)), down(divide_up(g.result[0], 2)), in_all(g.batch * down) {
    // The part of x that the tiles of a piece read stays in the second-level cache, and there are enough tiles for a
    // panel of the weight to be worth reading.
    constexpr int64_t kMostNumbers = 80 * 1024, kFewestTiles = 32;  // bench: suite resnet50_*, sweep conv2d
    const int64_t tiles = std::max(kMostNumbers / (kPlaces * g.in), kFewestTiles);
    const int64_t most = std::max<int64_t>(1, tiles / across), least = divide_up(in_all, most),
                  wanted = pieces(g.batch * g.cost() * 4 / 9);
    // A piece reads its panels and transforms its part of x, which takes some times as long as reading it.
    constexpr int64_t kTransform = 3;  // bench: suite resnet50_*
    int64_t least_time = std::numeric_limits<int64_t>::max();
    for (int64_t parts = 1; parts <= (whole_rows ? 1 : all_panels); ++parts) {
      const int64_t down = std::clamp(divide_up(wanted, parts), least, std::max(least, in_all)),
                    time = down * g.out + kTransform * parts * in_all * across;
      if (time >= least_time) continue;
      least_time = time;
      rows = divide_up(in_all, down);
      panels = divide_up(all_panels, parts);
    }
  }
};

/// The data that all pieces share.
class Convolution {
 public:
  Convolution(const Geometry& g, const Array& x, const ConvOperand& weight, bool flipped, const float* bias)
      : g_(g),
        x_(x.as<float>()),
        packer_{g.out, g.in, simd::product_tiles<float>().panel, flipped},
        weight_(packed(weight.value, packer_)),
        start_(static_cast<std::size_t>(std::max(g.in, g.out)), 0.0f),
        zeros_(start_) {
    if (bias) std::copy_n(bias, g.out, start_.begin());
  }
  int64_t panels() const { return packer_.count(); }

  /// Computes rows of tiles [begin, end) and panels [first, last) of y, which begins with the first row.
  void run(const TaskSize& cut, int64_t begin, int64_t end, int64_t first, int64_t last, float* y) const {
    const auto& tiles = simd::product_tiles<float>();
    const int64_t count = (end - begin) * cut.across, step = count * g_.in;
    const Memory seen(static_cast<std::size_t>(kPlaces * step) * sizeof(float)),
        made(static_cast<std::size_t>(kPlaces * count * packer_.panel) * sizeof(float));
    auto *const v = reinterpret_cast<float*>(seen.bytes()), *const m = reinterpret_cast<float*>(made.bytes());
    for (int64_t row = begin; row < end; ++row)
      winograd_transforms().input(x_ + row / cut.down * g_.sizes[0] * g_.sizes[1] * g_.in, g_.sizes[0], g_.sizes[1],
                                  g_.in, row % cut.down * 2 - g_.padding[0], -g_.padding[1], cut.across, zeros_.data(),
                                  v + (row - begin) * cut.across * g_.in, step);
    for (int64_t panel = first; panel < last; ++panel) {
      const int64_t channel = panel * packer_.panel, channels = std::min(packer_.panel, g_.out - channel);
      const float* const u = reinterpret_cast<const float*>(weight_->bytes()) + panel * packer_.size();
      for (int64_t place = 0; place < kPlaces; ++place) {
        float* const to = m + place * count * channels;
        tiles.multiply({v + place * step, g_.in, 1, g_.in * simd::rows_of_tile(count, tiles.rows)},
                       {u + place * g_.in * packer_.panel, packer_.panel, 1}, {to, channels, to, channels}, count,
                       channels, g_.in, false, nullptr);
      }
      for (int64_t row = begin; row < end; ++row) {
        const int64_t line = row % cut.down * 2, above = first_line(cut, row) - first_line(cut, begin);
        winograd_transforms().output(m + (row - begin) * cut.across * channels, count * channels, channels, cut.across,
                                     start_.data() + channel, y + above * g_.result[1] * g_.out + channel,
                                     g_.result[0] - line, g_.result[1], g_.result[1] * g_.out, g_.out);
      }
    }
  }
  /// Returns the line of y, counted over all images, at which a row of tiles begins.
  int64_t first_line(const TaskSize& cut, int64_t row) const {
    return row / cut.down * g_.result[0] + row % cut.down * 2;
  }

 private:
  const Geometry& g_;
  const float* x_;
  PackWinograd packer_;
  Ref<Memory> weight_;
  std::vector<float> start_, zeros_;
};

void convolve(const Geometry& g, const Array& x, const ConvOperand& weight, bool flipped, const float* bias,
              const ConvResult& y) {
  const Convolution convolution(g, x, weight, flipped, bias);
  const int64_t panels = convolution.panels();
  const TaskSize cut(g, panels, y.in_pieces());
  const int64_t across = divide_up(panels, cut.panels), line = g.result[1] * g.out;
  parallel_for(divide_up(cut.in_all, cut.rows) * across, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = i / across * cut.rows, last = std::min(cut.in_all, row + cut.rows);
      const int64_t panel = i % across * cut.panels, from = convolution.first_line(cut, row);
      const int64_t to = last == cut.in_all ? g.batch * g.result[0] : convolution.first_line(cut, last);
      y.piece(from * line, (to - from) * line, [&](std::byte* memory) {
        convolution.run(cut, row, last, panel, std::min(panels, panel + cut.panels), reinterpret_cast<float*>(memory));
      });
    }
  });
}

}  // namespace

void winograd_conv(const Geometry& g, const Array& x, const ConvOperand& weight, const float* bias,
                   const ConvResult& y) {
  convolve(g, x, weight, false, bias, y);
}
void winograd_conv_data(const Geometry& g, const Array& y, const ConvOperand& weight, const ConvResult& x) {
  convolve(g.flipped(), y, weight, true, nullptr, x);
}

}  // namespace kiln::cpu::conv

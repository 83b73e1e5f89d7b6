// If there are few rows, each thread computes some of the channels, from their statistics to their results, and waits
// for no other thread. If there are many rows, threads compute the statistics of some rows; then these are merged, and
// threads compute the results of some rows.
#include "kiln/backend/cpu/simd/norm/batch_norm_columns.hpp"

#include <algorithm>
#include <cmath>

#include "kiln/backend/cpu/algorithm.hpp"
#include "kiln/backend/cpu/pieces.hpp"
#include "kiln/backend/cpu/simd/norm/channel_norm.hpp"
#include "kiln/backend/cpu/simd/norm/norm_columns.hpp"
#include "kiln/core/parallel.hpp"

namespace kiln::cpu::simd {
namespace {

using std::int64_t;

constexpr int64_t kFewRows = 128;
constexpr int64_t kRowsOfBlock = 64;  // so few that their float sums are exact enough
constexpr int64_t kMostColumns = 64;  // so few that a block stays in the first-level cache
constexpr int64_t kUnit = 16;         // threads get multiples of so many channels, the lanes of the widest vector

/// Rows [begin, end) of some channels.
struct Block {
  int64_t begin, end, channel, count;

  Columns columns(int64_t channels) const { return {channels, end - begin, count}; }
  int64_t at(int64_t channels) const { return begin * channels + channel; }
};

/// Calls f(Block) for rows [begin, end) and blocks of the channels [first, last).
template <class F>
void each_block(int64_t begin, int64_t end, int64_t first, int64_t last, F&& f) {
  for (int64_t channel = first; channel < last; channel += kMostColumns)
    f(Block{begin, end, channel, std::min(kMostColumns, last - channel)});
}

/// Calls gather(statistics, block) until the statistics of some channels are complete, then finish(statistics, block),
/// and then apply(block) for all rows of these channels.
template <class Statistics, class Gather, class Finish, class Apply>
void normalise(int64_t rows, int64_t channels, Gather&& gather, Finish&& finish, Apply&& apply) {
  const auto by_block = [&](Statistics& statistics, const Block& block) {
    for (int64_t row = block.begin; row < block.end; row += kRowsOfBlock)
      gather(statistics, Block{row, std::min(block.end, row + kRowsOfBlock), block.channel, block.count});
  };
  if (rows <= kFewRows && !is_left_out(Algorithm::BatchNormFewRows)) {
    parallel_for(divide_up(channels, kUnit), divide_up(kGrain, rows * kUnit), [&](int64_t begin, int64_t end) {
      each_block(0, rows, begin * kUnit, std::min(channels, end * kUnit), [&](const Block& block) {
        Statistics all;
        by_block(all, block);
        finish(all, block);
        apply(block);
      });
    });
    return;
  }
  const Parts parts(rows, std::min(channels, kGrain / kRowsOfBlock));
  const int64_t blocks = divide_up(channels, kMostColumns);
  std::vector<Statistics> partial(static_cast<std::size_t>(parts.count() * blocks));
  const auto of = [&](int64_t part, int64_t block) -> Statistics& {
    return partial[static_cast<std::size_t>(part * blocks + block)];
  };
  parts.each([&](int64_t part, int64_t begin, int64_t end) {
    each_block(begin, end, 0, channels,
               [&](const Block& block) { by_block(of(part, block.channel / kMostColumns), block); });
  });
  parallel_for(blocks, 1, [&](int64_t begin, int64_t end) {
    each_block(0, rows, begin * kMostColumns, std::min(channels, end * kMostColumns), [&](const Block& block) {
      Statistics& all = of(0, block.channel / kMostColumns);
      for (int64_t part = 1; part < parts.count(); ++part)
        all.merge(of(part, block.channel / kMostColumns), block.count);
      finish(all, block);
    });
  });
  parallel_for(rows, divide_up(kGrain, channels),
               [&](int64_t begin, int64_t end) { each_block(begin, end, 0, channels, apply); });
}

/// The moments of some columns. They are sums of distances from `near`, the means of the first block, so that no large
/// squares are subtracted.
struct ColumnMoments {
  double count = 0;
  double near[kMostColumns], sums[kMostColumns], squares[kMostColumns];

  void add(const float* x, const Columns& columns) {
    float means[kMostColumns], rests[kMostColumns], own[kMostColumns];
    norm_columns().moments(x, columns, means, rests, own);
    if (count == 0)
      for (int64_t i = 0; i < columns.count; ++i)
        near[i] = static_cast<double>(means[i]) + rests[i], sums[i] = squares[i] = 0;
    const auto rows = static_cast<double>(columns.rows);
    for (int64_t i = 0; i < columns.count; ++i) {
      const double distance = static_cast<double>(means[i]) + rests[i] - near[i];
      sums[i] += rows * distance;
      squares[i] += rows * distance * distance + own[i];
    }
    count += rows;
  }
  void merge(const ColumnMoments& other, int64_t columns) {
    for (int64_t i = 0; i < columns; ++i) {
      const double distance = other.near[i] - near[i];
      sums[i] += other.sums[i] + other.count * distance;
      squares[i] += other.squares[i] + distance * (2 * other.sums[i] + other.count * distance);
    }
    count += other.count;
  }
  double mean(int64_t i) const { return near[i] + sums[i] / count; }
  double variance(int64_t i) const { return std::max(0.0, squares[i] - sums[i] * sums[i] / count) / count; }
};

/// The sums of g, of g * (x - mean) and of x - mean for some columns.
struct ColumnProducts {
  double g[kMostColumns] = {}, gx[kMostColumns] = {}, x[kMostColumns] = {};

  void add(const float* slopes, const float* numbers, const Columns& columns, const float* mean) {
    float sums[kMostColumns], products[kMostColumns], distances[kMostColumns];
    norm_columns().products(slopes, numbers, columns, mean, sums, products, distances);
    for (int64_t i = 0; i < columns.count; ++i) g[i] += sums[i], gx[i] += products[i], x[i] += distances[i];
  }
  void merge(const ColumnProducts& other, int64_t columns) {
    for (int64_t i = 0; i < columns; ++i) g[i] += other.g[i], gx[i] += other.gx[i], x[i] += other.x[i];
  }
};

}  // namespace

void batch_norm_columns(const ColumnNorm& norm, const std::vector<float>& bias, const float* x, float* z, float* means,
                        float* variances) {
  const int64_t channels = norm.channels;
  std::vector<float> rests(norm.weight.size()), scale = rests;
  normalise<ColumnMoments>(
      norm.rows, channels,
      [&](ColumnMoments& moments, const Block& block) { moments.add(x + block.at(channels), block.columns(channels)); },
      [&](const ColumnMoments& moments, const Block& block) {
        for (int64_t i = 0; i < block.count; ++i) {
          const int64_t channel = block.channel + i;
          const auto c = static_cast<std::size_t>(channel);
          const double variance = moments.variance(i), mean = moments.mean(i);
          means[channel] = static_cast<float>(mean);
          variances[channel] = static_cast<float>(variance);
          rests[c] = static_cast<float>(mean - means[channel]);
          scale[c] = norm.weight[c] * static_cast<float>(1 / std::sqrt(variance + norm.epsilon));
        }
      },
      [&](const Block& block) {
        const int64_t c = block.channel;
        norm_columns().affine(x + block.at(channels), block.columns(channels), {means + c, rests.data() + c},
                              scale.data() + c, bias.data() + c, z + block.at(channels));
      });
}

void batch_norm_grad_columns(const ColumnNorm& norm, const std::vector<float>& means,
                             const std::vector<float>& variances, const float* g, const float* x, float* dx,
                             float* dweight, float* dbias) {
  const int64_t channels = norm.channels;
  std::vector<float> rests(means.size()), a = rests, b = rests, c = rests;
  normalise<ColumnProducts>(
      norm.rows, channels,
      [&](ColumnProducts& sums, const Block& block) {
        const int64_t at = block.at(channels);
        sums.add(g + at, x + at, block.columns(channels), means.data() + block.channel);
      },
      [&](const ColumnProducts& sums, const Block& block) {
        for (int64_t i = 0; i < block.count; ++i) {
          const auto channel = static_cast<std::size_t>(block.channel + i);
          const ChannelGradient gradient(sums.g[i], sums.gx[i], sums.x[i], norm.rows, norm.weight[channel],
                                         variances[channel] + norm.epsilon);
          rests[channel] = gradient.rest;
          a[channel] = gradient.a, b[channel] = gradient.b, c[channel] = gradient.c;
          dweight[channel] = gradient.dweight, dbias[channel] = gradient.dbias;
        }
      },
      [&](const Block& block) {
        const int64_t at = block.at(channels), i = block.channel;
        norm_columns().combine(g + at, x + at, block.columns(channels), {means.data() + i, rests.data() + i},
                               a.data() + i, b.data() + i, c.data() + i, dx + at);
      });
}

}  // namespace kiln::cpu::simd

// The statistics of columns are column reductions. Threads compute those of some rows; then these are merged in order,
// and threads compute the results of some rows.
#include "kiln/backend/cpu/simd/norm/norm_columns.hpp"

#include <cmath>

#include "kiln/backend/cpu/pieces.hpp"
#include "kiln/backend/cpu/simd/norm/column_kernels.hpp"

namespace kiln::cpu::simd {
namespace {

using std::int64_t;

/// Calls f(ColumnBlock) for rows [begin, end) of columns [first, last), at most `rows` rows at a time.
template <class F>
void each_block(const NormPlan& plan, int64_t begin, int64_t end, int64_t first, int64_t last, int64_t rows, F&& f) {
  for (int64_t column = first; column < last; column += kMostColumns)
    for (int64_t row = begin; row < end; row += rows)
      f(ColumnBlock{row, std::min(rows, end - row), column, std::min(kMostColumns, last - column), plan.rows});
}

/// Calls gather(statistics, block) until the statistics of all channels are complete, finish(statistics, block) for
/// them, and then apply(block) for all rows.
template <class Statistics, class Gather, class Finish, class Apply>
void in_three_steps(const NormPlan& plan, Gather&& gather, Finish&& finish, Apply&& apply) {
  const int64_t rows = plan.runs, channels = plan.rows, blocks = divide_up(channels, kMostColumns);
  const NormParts parts(rows, std::min(channels, NormParts::kGrain / kRowsOfBlock));
  std::vector<Statistics> partial(static_cast<std::size_t>(parts.count() * blocks));
  const auto of = [&](int64_t part, int64_t column) -> Statistics& {
    return partial[static_cast<std::size_t>(part * blocks + column / kMostColumns)];
  };
  parts.each([&](int64_t part, int64_t begin, int64_t end) {
    each_block(plan, begin, end, 0, channels, kRowsOfBlock,
               [&](const ColumnBlock& block) { gather(of(part, block.first), block); });
  });
  parallel_for(blocks, 1, [&](int64_t begin, int64_t end) {
    each_block(plan, 0, rows, begin * kMostColumns, std::min(channels, end * kMostColumns), rows,
               [&](const ColumnBlock& block) {
                 Statistics& all = of(0, block.first);
                 for (int64_t part = 1; part < parts.count(); ++part) all.merge(of(part, block.first), block.count);
                 finish(all, block);
               });
  });
  parallel_for(rows, divide_up(NormParts::kGrain, channels),
               [&](int64_t begin, int64_t end) { each_block(plan, begin, end, 0, channels, end - begin, apply); });
}

/// The moments of some columns. They are sums of distances from `near`, the means of the first block, so that no large
/// squares are subtracted.
struct ColumnMoments {
  double count = 0;
  double near[kMostColumns], sums[kMostColumns], squares[kMostColumns];

  void add(const float* x, const ColumnBlock& block) {
    float means[kMostColumns], rests[kMostColumns], own[kMostColumns];
    column_kernels().moments(x, block, means, rests, own);
    if (count == 0)
      for (int64_t i = 0; i < block.count; ++i)
        near[i] = static_cast<double>(means[i]) + rests[i], sums[i] = squares[i] = 0;
    const auto rows = static_cast<double>(block.rows);
    for (int64_t i = 0; i < block.count; ++i) {
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
  /// NaN where an element is.
  double variance(int64_t i) const {
    const double sum = squares[i] - sums[i] * sums[i] / count;
    return (sum < 0 ? 0 : sum) / count;
  }
};

/// The sums of g, of g * (x - mean) and of x - mean for some columns.
struct ColumnProducts {
  double sums[3 * kMostColumns] = {};

  void add(const float* g, const float* x, const ColumnBlock& block, const float* means) {
    float own[3 * kMostColumns] = {};
    column_kernels().products(g, x, block, means, own);
    for (int64_t i = 0; i < 3 * kMostColumns; ++i) sums[i] += own[i];
  }
  void merge(const ColumnProducts& other, int64_t) {
    for (int64_t i = 0; i < 3 * kMostColumns; ++i) sums[i] += other.sums[i];
  }
};

}  // namespace

void normalise_columns(const NormPlan& plan, const float* x, const float* weight, const float* bias, float* z,
                       float* means, float* variances) {
  std::vector<float> rests(static_cast<std::size_t>(plan.rows)), scales = rests;
  const ColumnTerms terms{means, rests.data(), nullptr, scales.data(), bias};
  in_three_steps<ColumnMoments>(
      plan, [&](ColumnMoments& moments, const ColumnBlock& block) { moments.add(x, block); },
      [&](const ColumnMoments& moments, const ColumnBlock& block) {
        for (int64_t i = 0; i < block.count; ++i) {
          const int64_t channel = block.first + i;
          const auto c = static_cast<std::size_t>(channel);
          const double variance = moments.variance(i), mean = moments.mean(i);
          means[channel] = static_cast<float>(mean);
          variances[channel] = static_cast<float>(variance);
          rests[c] = static_cast<float>(mean - means[channel]);
          scales[c] = weight[channel] * static_cast<float>(1 / std::sqrt(variance + plan.epsilon));
        }
      },
      [&](const ColumnBlock& block) { column_kernels().combine(nullptr, x, block, terms, z); });
}

// dx = weight / deviation * (g - mean(g) - (x - mean) * mean(g * (x - mean)) / deviation^2)
//    = a g + b (x - mean - rest) + c, where `rest` is what rounding the mean left.
void norm_gradient_columns(const NormPlan& plan, const ColumnGradient& call) {
  const auto count = static_cast<double>(plan.count());
  std::vector<float> rests(static_cast<std::size_t>(plan.rows)), a = rests, b = rests, c = rests;
  const ColumnTerms terms{call.means, rests.data(), a.data(), b.data(), c.data()};
  in_three_steps<ColumnProducts>(
      plan,
      [&](ColumnProducts& products, const ColumnBlock& block) {
        products.add(call.g, call.x, block, call.means + block.first);
      },
      [&](const ColumnProducts& products, const ColumnBlock& block) {
        for (int64_t i = 0; i < block.count; ++i) {
          const int64_t channel = block.first + i;
          const auto k = static_cast<std::size_t>(channel);
          const double g = products.sums[i], rest = products.sums[2 * kMostColumns + i] / count;
          const double product = products.sums[kMostColumns + i] - rest * g;
          const double inverse = 1 / std::sqrt(call.variances[channel] + plan.epsilon);
          const double slope = call.weight[channel] * inverse;
          rests[k] = static_cast<float>(rest);
          a[k] = static_cast<float>(slope);
          b[k] = static_cast<float>(-slope * inverse * inverse * product / count);
          c[k] = static_cast<float>(-slope * g / count);
          call.dweight[channel] = static_cast<float>(product * inverse);
          call.dbias[channel] = static_cast<float>(g);
        }
      },
      [&](const ColumnBlock& block) { column_kernels().combine(call.g, call.x, block, terms, call.dx); });
}

}  // namespace kiln::cpu::simd

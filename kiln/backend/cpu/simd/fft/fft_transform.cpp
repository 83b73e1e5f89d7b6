#include "kiln/backend/cpu/simd/fft/fft_transform.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "kiln/backend/cpu/simd/fft/fft_columns.hpp"
#include "kiln/backend/cpu/simd/product/product_tiles.hpp"
#include "kiln/core/parallel.hpp"

namespace kiln::cpu::simd {

template <class T>
Split<T> transform_columns(const FftPlan<T>& plan, Split<T> x, Split<T> y) {
  const FftKernels<T>& kernels = fft_kernels<T>();
  if (!plan.convolution) return kernels.transform(plan, x, y);
  const auto multiply = [&](Split<T> rows, const SplitVector<T>& w, std::int64_t count) {
    kernels.multiply_twiddles(rows, w.re.data(), w.im.data(), 1, 0, count);
  };
  const std::int64_t rest = (plan.capacity() - plan.n) * kColumns;
  multiply(x, plan.chirp, plan.n);
  std::fill_n(x.re + plan.n * kColumns, rest, T{0});
  std::fill_n(x.im + plan.n * kColumns, rest, T{0});
  const Split<T> spectrum = kernels.transform(*plan.convolution, x, y);
  multiply(spectrum, plan.filter, plan.capacity());
  const Split<T> other = spectrum.re == x.re ? y : x;
  const Split<T> result = kernels.transform(*plan.convolution, spectrum.swapped(), other.swapped()).swapped();
  multiply(result, plan.chirp, plan.n);
  return result;
}

namespace {

constexpr std::int64_t kWork = 16384;  // the minimum number of elements per thread

/// x[i] *= w[i]
template <class T>
void multiply_twiddles(Split<T> x, const SplitVector<T>& w, std::int64_t count) {
  const std::int64_t rows = count / kColumns, whole = rows * kColumns;
  fft_kernels<T>().multiply_twiddles(x, w.re.data(), w.im.data(), kColumns, 1, rows);
  for (std::int64_t i = whole; i < count; ++i) {
    const T re = w.re[static_cast<std::size_t>(i)], im = w.im[static_cast<std::size_t>(i)], a = x.re[i], b = x.im[i];
    x.re[i] = a * re - b * im;
    x.im[i] = a * im + b * re;
  }
}

template <class T>
void copy_row(Split<T> from, Split<T> to, std::int64_t count) {
  std::memcpy(to.re, from.re, static_cast<std::size_t>(count) * sizeof(T));
  std::memcpy(to.im, from.im, static_cast<std::size_t>(count) * sizeof(T));
}

/// Calls part(width) with a compile-time constant if the block is whole, so that rows are copied without calls of
/// memcpy.
template <class Part>
void with_width(std::int64_t width, Part part) {
  if (width == kColumns) part(std::integral_constant<std::int64_t, kColumns>());
  else part(width);
}

/// Transforms the columns of a matrix of `lines` columns, kColumns at a time, on several threads. Calls
/// after(result, first column, number of columns) for each block.
template <class T, class After>
void each_block(const FftPlan<T>& plan, Split<T> matrix, std::int64_t lines, After after) {
  const std::int64_t n = plan.n, blocks = (lines + kColumns - 1) / kColumns;
  parallel_for(blocks, std::max<std::int64_t>(1, kWork / (n * kColumns)), [&](std::int64_t begin, std::int64_t end) {
    const FftBuffer<T> first(plan.capacity() * kColumns), second(plan.capacity() * kColumns);
    for (std::int64_t block = begin; block < end; ++block) {
      const std::int64_t start = block * kColumns, width = std::min(kColumns, lines - start);
      const Split<T> x = first.split();
      with_width(width, [&](auto count) {
        for (std::int64_t j = 0; j < n; ++j) {
          const Split<T> row = matrix.at(j * lines + start), into = x.at(j * kColumns);
          // Prefetch the row of the next block: the processor does not prefetch at such distances.
          __builtin_prefetch(row.re + kColumns);
          __builtin_prefetch(row.im + kColumns);
          copy_row(row, into, count);
          std::fill(into.re + count, into.re + kColumns, T{0});
          std::fill(into.im + count, into.im + kColumns, T{0});
        }
      });
      after(transform_columns(plan, x, second.split()), start, width);
    }
  });
}

/// Transforms a long line, which is the matrix x [rows, columns]: transforms the columns, multiplies by the twiddle
/// factors, transposes, and transforms the rows, which are columns by then.
template <class T>
void transform_matrix(const FftPlan<T>& plan, Split<T> x) {
  const std::int64_t rows = plan.rows, columns = plan.columns;
  const FftBuffer<T> transposed(plan.n);
  const Split<T> t = transposed.split();
  each_block(*plan.by_column, x, columns, [&](Split<T> block, std::int64_t start, std::int64_t width) {
    const std::int64_t first = start * rows;
    fft_kernels<T>().multiply_twiddles(block, plan.twiddles.re.data() + first, plan.twiddles.im.data() + first,
                                       kColumns, 1, rows);
    product_tiles<T>().transpose(block.re, kColumns, t.re + first, rows, rows, width);
    product_tiles<T>().transpose(block.im, kColumns, t.im + first, rows, rows, width);
  });
  each_block(*plan.by_row, t, rows, [&](Split<T> block, std::int64_t start, std::int64_t width) {
    with_width(width, [&](auto count) {
      for (std::int64_t j = 0; j < columns; ++j) copy_row(block.at(j * kColumns), x.at(j * rows + start), count);
    });
  });
}

/// Transforms a short line as the first column of a block whose other columns are zeros.
template <class T>
void transform_alone(const FftPlan<T>& plan, Split<T> x) {
  each_block(plan, x, 1, [&](Split<T> block, std::int64_t, std::int64_t) {
    for (std::int64_t j = 0; j < plan.n; ++j) {
      x.re[j] = block.re[j * kColumns];
      x.im[j] = block.im[j * kColumns];
    }
  });
}

}  // namespace

template <class T>
void transform_line(const FftPlan<T>& plan, Split<T> x) {
  if (plan.rows > 0) return transform_matrix(plan, x);
  if (!plan.convolution) return transform_alone(plan, x);
  multiply_twiddles(x, plan.chirp, plan.n);
  std::fill(x.re + plan.n, x.re + plan.capacity(), T{0});
  std::fill(x.im + plan.n, x.im + plan.capacity(), T{0});
  transform_line(*plan.convolution, x);
  multiply_twiddles(x, plan.filter, plan.capacity());
  transform_line(*plan.convolution, x.swapped());
  multiply_twiddles(x, plan.chirp, plan.n);
}

#define KILN_INSTANTIATE(T)                                                   \
  template Split<T> transform_columns(const FftPlan<T>&, Split<T>, Split<T>); \
  template void transform_line(const FftPlan<T>&, Split<T>);
KILN_INSTANTIATE(float)
KILN_INSTANTIATE(double)
#undef KILN_INSTANTIATE

}  // namespace kiln::cpu::simd

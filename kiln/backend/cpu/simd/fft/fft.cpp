// Fourier transforms along any dimension of a strided tensor. Short lines are gathered into blocks of columns,
// transformed there, and scattered to the result. Long lines are transformed one by one.
#include <algorithm>

#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/backend/cpu/simd/fft/fft_columns.hpp"
#include "kiln/backend/cpu/simd/fft/fft_transform.hpp"
#include "kiln/core/convert.hpp"
#include "kiln/core/parallel.hpp"
#include "kiln/ops/signal/signal_ops.hpp"

namespace kiln::cpu::simd {
namespace {

using op::FftKind;

constexpr std::int64_t kLongestInBlocks = 4096;  // the longest lines of which a block stays in the cache
constexpr std::int64_t kWork = 16384;            // the minimum number of elements per thread

/// The layout of the elements of a line, each of which has one or two numbers (`parts`).
struct Elements {
  std::int64_t count, parts, step;
  std::int64_t part_step;  // the distance from the first number of an element to the second
};

/// Says where the lines of the operand and of the result begin, and how their elements lie.
struct FftLines {
  Shape outer;  // the dimensions that count lines
  Dims x_outer, z_outer;
  std::int64_t count;
  Elements x, z;

  /// If `paired`, two adjacent real numbers are one complex element.
  FftLines(const Array& x, const Array& z, const op::Fft& op, bool paired)
      : x(elements(x, op, op.kind == FftKind::RealToComplex, paired, op.length_in())),
        z(elements(z, op, op.kind == FftKind::ComplexToReal, paired, op.length_out())) {
    const int rank = std::min(x.shape.size(), z.shape.size()) - (op.kind == FftKind::ComplexToComplex ? 1 : 0);
    for (int i = 0; i < rank; ++i) {
      if (i == op.dim) continue;
      outer.push_back(x.shape[i]);
      x_outer.push_back(x.strides[i]);
      z_outer.push_back(z.strides[i]);
    }
    count = numel(outer);
  }
  struct Offsets {
    std::int64_t x = 0, z = 0;
  };
  Offsets operator[](std::int64_t line) const {
    Offsets at;
    for (int i = outer.size() - 1; i >= 0; --i) {
      at.x += line % outer[i] * x_outer[i];
      at.z += line % outer[i] * z_outer[i];
      line /= outer[i];
    }
    return at;
  }

 private:
  static Elements elements(const Array& array, const op::Fft& op, bool real, bool paired, std::int64_t count) {
    const std::int64_t step = array.strides[op.dim];
    if (!real) return {count, 2, step, array.strides.back()};
    return paired ? Elements{count / 2, 2, 2 * step, step} : Elements{count, 1, step, 0};
  }
};

/// Elements are stored as E and computed in T.
template <class E, class T>
class Transform {
 public:
  Transform(const op::Fft& op, const Array& x, const Array& z, double scale)
      : op_(op),
        x_(x.as<const E>()),
        z_(z.as<E>()),
        scale_(static_cast<T>(scale)),
        // A real transform of even length is a complex transform of half the length: two real numbers are one element.
        paired_(op.kind != FftKind::ComplexToComplex && op.n % 2 == 0),
        lines_(x, z, op, paired_),
        plan_(fft_plan<T>(paired_ ? op.n / 2 : op.n, paired_)),
        swaps_parts_(op.kind == FftKind::ComplexToReal || (op.kind == FftKind::ComplexToComplex && op.inverse)),
        conjugates_(op.kind != FftKind::ComplexToComplex && op.inverse == (op.kind == FftKind::RealToComplex)) {}

  void run() const {
    const bool few =
        lines_.count < kColumns && (plan_->rows > 0 || (plan_->convolution && plan_->convolution->rows > 0));
    if (plan_->capacity() > kLongestInBlocks || few) return run_lines();
    const std::int64_t blocks = (lines_.count + kColumns - 1) / kColumns;
    const std::int64_t work = plan_->capacity() * kColumns;
    parallel_for(blocks, std::max<std::int64_t>(1, kWork / work), [&](std::int64_t begin, std::int64_t end) {
      const FftBuffer<T> first(work + kColumns), second(work + kColumns);
      for (std::int64_t block = begin; block < end; ++block) {
        const std::int64_t start = block * kColumns, width = std::min(kColumns, lines_.count - start);
        run_block<kColumns>(start, width, first.split(), second.split(),
                            [&](Split<T> x, Split<T> y) { return transform_columns(*plan_, x, y); });
      }
    });
  }

 private:
  // A few lines are transformed one after the other, each by all threads. Many lines are distributed over the threads,
  // each of which transforms whole lines.
  void run_lines() const {
    const auto some = [&](std::int64_t begin, std::int64_t end) {
      const FftBuffer<T> first(plan_->capacity() + 1), second(plan_->capacity() + 1);
      for (std::int64_t line = begin; line < end; ++line)
        run_block<1>(line, 1, first.split(), second.split(), [&](Split<T> x, Split<T>) {
          transform_line(*plan_, x);
          return x;
        });
    };
    if (lines_.count < 8) some(0, lines_.count);
    else parallel_for(lines_.count, 1, some);
  }

  template <std::int64_t kWidth, class Run>
  void run_block(std::int64_t start, std::int64_t width, Split<T> x, Split<T> y, Run transform) const {
    typename FftLines::Offsets lines[kWidth];
    for (std::int64_t c = 0; c < width; ++c) lines[c] = lines_[start + c];
    gather_block<kWidth>(lines, width, x);
    if (op_.kind == FftKind::ComplexToReal && !paired_) mirror<kWidth>(x);
    if (paired_ && op_.kind == FftKind::ComplexToReal) {
      kernels_.fold(*plan_, x, y, kWidth == 1);
      std::swap(x, y);
    }
    Split<T> result = swaps_parts_ ? transform(x.swapped(), y.swapped()).swapped() : transform(x, y);
    if (paired_ && op_.kind == FftKind::RealToComplex) {
      const Split<T> other = result.re == x.re ? y : x;
      kernels_.unfold(*plan_, result, other, kWidth == 1);
      result = other;
    }
    scatter_block<kWidth>(result, lines, width);
  }

  // The elements of a line are a row apart in a block. A few elements of each line are copied at a time, so that the
  // cache lines that one line has touched are still in the cache for the next.
  static constexpr std::int64_t kTile = 64;
  template <class Part>
  static void in_tiles(std::int64_t begin, std::int64_t rows, Part part) {
    for (; begin < rows; begin += kTile) part(begin, std::min(rows, begin + kTile));
  }

  using Offsets = typename FftLines::Offsets;

  template <std::int64_t kWidth>
  void gather_block(const Offsets* lines, std::int64_t width, Split<T> x) const {
    alignas(64) T tile[2 * kTile * kWidth] = {};
    const auto some = [&](std::int64_t begin, std::int64_t end) {
      gather<kWidth>(lines, width, begin, end, tile);
      load<kWidth>(tile, x, begin, end);
    };
    std::int64_t copied = 0;
    if constexpr (std::is_same_v<E, T>)
      if (const std::int64_t step = even_step<kWidth>(lines_.x, width, [&](auto c) { return lines[c].x; })) {
        const Factors factors = factors_in(1);
        copied = kernels_.copy_in(const_cast<E*>(x_) + lines[0].x, step, lines_.x.count, x, factors.re, factors.im,
                                  kWidth == 1);
        if (op_.kind == FftKind::ComplexToReal) each_single(copied, some);
      }
    in_tiles(copied, lines_.x.count, some);
  }
  template <std::int64_t kWidth>
  void scatter_block(Split<T> x, const Offsets* lines, std::int64_t width) const {
    alignas(64) T tile[2 * kTile * kWidth];
    const auto some = [&](std::int64_t begin, std::int64_t end) {
      store<kWidth>(x, tile, begin, end);
      scatter<kWidth>(tile, lines, width, begin, end);
    };
    std::int64_t copied = 0;
    if constexpr (std::is_same_v<E, T>)
      if (const std::int64_t step = even_step<kWidth>(lines_.z, width, [&](auto c) { return lines[c].z; })) {
        const Factors factors = factors_out(1);
        copied = kernels_.copy_out(z_ + lines[0].z, step, lines_.z.count, x, factors.re, factors.im, kWidth == 1);
        if (op_.adjoint) each_single(copied, some);
      }
    in_tiles(copied, lines_.z.count, some);
  }

  /// Returns the distance between the lines of a whole block if all are equally far apart and consist of contiguous
  /// complex numbers; otherwise 0. Returns 1 for a single line.
  template <std::int64_t kWidth, class At>
  static std::int64_t even_step(const Elements& elements, std::int64_t width, At at) {
    if (width < kWidth || elements.parts != 2 || elements.step != 2 || elements.part_step != 1) return 0;
    if constexpr (kWidth == 1) return 1;
    const std::int64_t step = at(1) - at(0);
    for (std::int64_t c = 2; c < width; ++c)
      if (at(c) - at(c - 1) != step) return 0;
    return step;
  }

  /// Calls some(k, k + 1) for the elements k < end of a halved spectrum that have no conjugate in the other half, and
  /// therefore other factors.
  template <class Some>
  void each_single(std::int64_t end, Some some) const {
    if (end > 0) some(0, 1);
    if (op_.n % 2 == 0 && op_.n / 2 < end) some(op_.n / 2, op_.n / 2 + 1);
  }

  /// Copies the numbers of elements [begin, end) of the lines to tile[number][line].
  template <std::int64_t kWidth>
  void gather(const Offsets* lines, std::int64_t width, std::int64_t begin, std::int64_t end, T* tile) const {
    const Elements& from = lines_.x;
    for (std::int64_t c = 0; c < width; ++c) {
      const E* x = x_ + lines[c].x;
      T* to = tile + c;
      for (std::int64_t j = begin; j < end; ++j)
        for (std::int64_t part = 0; part < from.parts; ++part, to += kWidth)
          *to = convert<T>(x[j * from.step + part * from.part_step]);
    }
  }
  template <std::int64_t kWidth>
  void scatter(const T* tile, const Offsets* lines, std::int64_t width, std::int64_t begin, std::int64_t end) const {
    const Elements& to = lines_.z;
    for (std::int64_t c = 0; c < width; ++c) {
      E* z = z_ + lines[c].z;
      const T* from = tile + c;
      for (std::int64_t j = begin; j < end; ++j)
        for (std::int64_t part = 0; part < to.parts; ++part, from += kWidth)
          z[j * to.step + part * to.part_step] = convert<E>(*from);
    }
  }

  /// The factors of the parts of an element. The factor of an imaginary part that is absent is 0.
  struct Factors {
    T re, im;
  };
  Factors factors_in(std::int64_t k) const {
    if (op_.kind == FftKind::ComplexToComplex) return {1, 1};
    if (op_.kind == FftKind::RealToComplex) return {1, paired_ ? T{1} : T{0}};
    if (!op_.is_doubled(k)) return {1, 0};
    const T factor = op_.adjoint ? T{0.5} : T{1};
    return {factor, conjugates_ ? -factor : factor};
  }
  Factors factors_out(std::int64_t k) const {
    if (op_.kind != FftKind::RealToComplex) return {scale_, scale_};
    const T factor = op_.adjoint && op_.is_doubled(k) ? 2 * scale_ : scale_;
    return {factor, conjugates_ ? -factor : factor};
  }

  template <std::int64_t kWidth>
  void load(const T* tile, Split<T> to, std::int64_t begin, std::int64_t end) const {
    for (std::int64_t k = begin; k < end; ++k, tile += lines_.x.parts * kWidth) {
      const Factors factors = factors_in(k);
      const Split<T> row = to.at(k * kWidth);
      for (std::int64_t c = 0; c < kWidth; ++c) row.re[c] = tile[c] * factors.re;
      for (std::int64_t c = 0; c < kWidth; ++c) row.im[c] = factors.im != 0 ? tile[kWidth + c] * factors.im : T{0};
    }
  }
  template <std::int64_t kWidth>
  void store(Split<T> from, T* tile, std::int64_t begin, std::int64_t end) const {
    for (std::int64_t k = begin; k < end; ++k, tile += lines_.z.parts * kWidth) {
      const Factors factors = factors_out(k);
      const Split<T> row = from.at(k * kWidth);
      for (std::int64_t c = 0; c < kWidth; ++c) tile[c] = row.re[c] * factors.re;
      if (lines_.z.parts < 2) continue;
      for (std::int64_t c = 0; c < kWidth; ++c) tile[kWidth + c] = row.im[c] * factors.im;
    }
  }

  /// Computes the half of a real signal's spectrum that is not given.
  template <std::int64_t kWidth>
  void mirror(Split<T> x) const {
    for (std::int64_t k = op_.length_in(); k < op_.n; ++k)
      for (std::int64_t c = 0; c < kWidth; ++c) {
        x.re[k * kWidth + c] = x.re[(op_.n - k) * kWidth + c];
        x.im[k * kWidth + c] = -x.im[(op_.n - k) * kWidth + c];
      }
  }

  const FftKernels<T>& kernels_ = fft_kernels<T>();
  const op::Fft& op_;
  const E* x_;
  E* z_;
  T scale_;
  bool paired_;
  FftLines lines_;
  std::shared_ptr<const FftPlan<T>> plan_;
  bool swaps_parts_;  // whether the transform swaps real and imaginary parts, which makes it the inverse one
  bool conjugates_;   // whether the spectrum of real numbers is the conjugate of the one that the plan computes
};

}  // namespace

bool run(const op::Fft& op, Call call) {
  const Array x = read(call.in[op::Fft::x]), z = allocate(call.out[0]);
  if (z.numel() == 0) return true;
  const double scale = call.in[op::Fft::scale].scalar().to<double>();
  switch (z.dtype) {
    case DType::F64: Transform<double, double>(op, x, z, scale).run(); return true;
    case DType::F32: Transform<float, float>(op, x, z, scale).run(); return true;
    case DType::F16: Transform<F16, float>(op, x, z, scale).run(); return true;
    case DType::BF16: Transform<BF16, float>(op, x, z, scale).run(); return true;
    default: return false;
  }
}

}  // namespace kiln::cpu::simd

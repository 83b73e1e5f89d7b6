// Fourier transforms along any dimension of a strided tensor: lines are brought together in blocks, transformed there,
// and written where they belong. Long lines are transformed one by one.
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

constexpr std::int64_t kLongestInBlocks = 1024;  // so that a block stays in the cache
constexpr std::int64_t kWork = 16384;            // elements worth a thread's while

/// Where the lines of operand and result begin, and how they go on.
struct Lines {
  Shape outer;  // the dimensions that count lines
  Dims x_outer, z_outer;
  std::int64_t count, x_step, z_step;
  std::int64_t x_imag, z_imag;  // from a real part to its imaginary part

  Lines(const Array& x, const Array& z, const op::Fft& op)
      : x_step(x.strides[op.dim]),
        z_step(z.strides[op.dim]),
        x_imag(op.kind == FftKind::RealToComplex ? 0 : x.strides.back()),
        z_imag(op.kind == FftKind::ComplexToReal ? 0 : z.strides.back()) {
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
};

/// E is what elements are stored as, T what they are computed in.
template <class E, class T>
class Transform {
 public:
  Transform(const op::Fft& op, const Array& x, const Array& z, double scale)
      : op_(op),
        x_(x.as<const E>()),
        z_(z.as<E>()),
        lines_(x, z, op),
        scale_(static_cast<T>(scale)),
        // Two real numbers are taken for one complex number where they come out even.
        paired_(op.kind != FftKind::ComplexToComplex && op.n % 2 == 0),
        plan_(fft_plan<T>(paired_ ? op.n / 2 : op.n, paired_)),
        backwards_(op.kind == FftKind::ComplexToReal || (op.kind == FftKind::ComplexToComplex && op.inverse)),
        mirrored_(op.kind != FftKind::ComplexToComplex && op.inverse == (op.kind == FftKind::RealToComplex)) {}

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
  // Few lines are transformed by all threads together, many by one thread each.
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
    if (width < kWidth) clear(x, kWidth);
    typename Lines::Offsets lines[kWidth];
    for (std::int64_t c = 0; c < width; ++c) lines[c] = lines_[start + c];
    in_tiles(rows_in(), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t c = 0; c < width; ++c) load<kWidth>(lines[c].x, x.at(c), begin, end);
    });
    if (op_.kind == FftKind::ComplexToReal && !paired_) mirror<kWidth>(x);
    if (paired_ && op_.kind == FftKind::ComplexToReal) {
      fold_spectrum(*plan_, x, y, kWidth);
      std::swap(x, y);
    }
    Split<T> result = backwards_ ? transform(x.swapped(), y.swapped()).swapped() : transform(x, y);
    if (paired_ && op_.kind == FftKind::RealToComplex) {
      const Split<T> other = result.re == x.re ? y : x;
      unfold_spectrum(*plan_, result, other, kWidth);
      result = other;
    }
    in_tiles(rows_out(), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t c = 0; c < width; ++c) store<kWidth>(result.at(c), lines[c].z, begin, end);
    });
  }

  /// Elements of a block that a line fills, and that are written back.
  std::int64_t rows_in() const { return paired_ && op_.kind == FftKind::RealToComplex ? plan_->n : op_.length_in(); }
  std::int64_t rows_out() const { return paired_ && op_.kind == FftKind::ComplexToReal ? plan_->n : op_.length_out(); }

  // Lines lie across a block: a few elements of each at a time, so that what one line touched is there for the next.
  template <class Part>
  static void in_tiles(std::int64_t rows, Part part) {
    constexpr std::int64_t kTile = 64;
    for (std::int64_t begin = 0; begin < rows; begin += kTile) part(begin, std::min(rows, begin + kTile));
  }

  void clear(Split<T> x, std::int64_t width) const {
    const std::int64_t count = (plan_->n + 1) * width;
    std::fill_n(x.re, count, T{0});
    std::fill_n(x.im, count, T{0});
  }

  template <std::int64_t kWidth>
  void load(std::int64_t first, Split<T> to, std::int64_t begin, std::int64_t end) const {
    const E* x = x_ + first;
    const std::int64_t step = lines_.x_step, imag = lines_.x_imag;
    const auto get = [&](std::int64_t at) { return convert<T>(x[at]); };
    if (op_.kind == FftKind::RealToComplex) {
      for (std::int64_t j = begin; j < end; ++j) {
        to.re[j * kWidth] = get((paired_ ? 2 * j : j) * step);
        to.im[j * kWidth] = paired_ ? get((2 * j + 1) * step) : T{0};
      }
    } else if (op_.kind == FftKind::ComplexToComplex) {
      for (std::int64_t j = begin; j < end; ++j) {
        to.re[j * kWidth] = get(j * step);
        to.im[j * kWidth] = get(j * step + imag);
      }
    } else {
      const T doubled = op_.adjoint ? T{0.5} : T{1}, sign = mirrored_ ? T{-1} : T{1};
      for (std::int64_t k = begin; k < end; ++k) {
        const bool pair = op_.is_doubled(k);
        to.re[k * kWidth] = get(k * step) * (pair ? doubled : 1);
        to.im[k * kWidth] = pair ? get(k * step + imag) * (doubled * sign) : T{0};
      }
    }
  }

  /// The half of a real signal's spectrum that is not given.
  template <std::int64_t kWidth>
  void mirror(Split<T> x) const {
    for (std::int64_t k = op_.length_in(); k < op_.n; ++k)
      for (std::int64_t c = 0; c < kWidth; ++c) {
        x.re[k * kWidth + c] = x.re[(op_.n - k) * kWidth + c];
        x.im[k * kWidth + c] = -x.im[(op_.n - k) * kWidth + c];
      }
  }

  template <std::int64_t kWidth>
  void store(Split<T> from, std::int64_t first, std::int64_t begin, std::int64_t end) const {
    E* z = z_ + first;
    const std::int64_t step = lines_.z_step, imag = lines_.z_imag;
    const auto put = [&](std::int64_t at, T value) { z[at] = convert<E>(value * scale_); };
    if (op_.kind == FftKind::ComplexToReal) {
      for (std::int64_t j = begin; j < end; ++j) {
        put((paired_ ? 2 * j : j) * step, from.re[j * kWidth]);
        if (paired_) put((2 * j + 1) * step, from.im[j * kWidth]);
      }
    } else if (op_.kind == FftKind::ComplexToComplex) {
      for (std::int64_t k = begin; k < end; ++k) {
        put(k * step, from.re[k * kWidth]);
        put(k * step + imag, from.im[k * kWidth]);
      }
    } else {
      for (std::int64_t k = begin; k < end; ++k) {
        const T doubled = op_.adjoint && op_.is_doubled(k) ? T{2} : T{1};
        put(k * step, from.re[k * kWidth] * doubled);
        put(k * step + imag, from.im[k * kWidth] * (mirrored_ ? -doubled : doubled));
      }
    }
  }

  const op::Fft& op_;
  const E* x_;
  E* z_;
  Lines lines_;
  T scale_;
  bool paired_;
  std::shared_ptr<const FftPlan<T>> plan_;
  bool backwards_;  // transform with the parts in each other's place
  bool mirrored_;   // a spectrum of real numbers that is conjugate to the one that the plan is for
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

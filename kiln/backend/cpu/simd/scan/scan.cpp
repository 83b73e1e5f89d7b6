// Scans along one dimension. Several lines are scanned at once: neighbouring lines if the scanned axis is strided, and
// kContiguousLines lines if it is contiguous. If there are only a few long lines, they are split into pieces of fixed
// size. Then the totals of pieces are computed first, so that each piece starts from the total of all before it. The
// split depends on sizes alone.
#include "kiln/ops/reduce/scan_ops.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/backend/cpu/lines.hpp"
#include "kiln/backend/cpu/simd/elementwise/convert.hpp"
#include "kiln/backend/cpu/simd/reduce/arg_fold.hpp"
#include "kiln/backend/cpu/simd/scan/scan_block.hpp"
#include "kiln/core/grain.hpp"

namespace kiln::cpu::simd {
namespace {

constexpr std::int64_t kWork = 32768;  // the minimum number of elements per thread
constexpr std::int64_t kStage = 4096;  // the elements that are converted at once

/// The running state of one line.
template <class C>
struct Carry {
  typename ScanState<C>::A folded;
  double scale;
  std::int64_t place;
};

template <class C>
Carry<C> start_of(op::ScanFn fn) {
  using A = typename ScanState<C>::A;
  if (fn == op::ScanFn::LogSumExp) return {-std::numeric_limits<A>::infinity(), 0, -1};
  return {fn == op::ScanFn::Prod ? A{1} : A{0}, 0, -1};
}

/// Joins the state `a` of a part of a line and the state `b` of the part that follows it.
template <class C>
Carry<C> join(op::ScanFn fn, const Carry<C>& a, const Carry<C>& b) {
  switch (fn) {
    case op::ScanFn::Sum: return {a.folded + b.folded, 0, -1};
    case op::ScanFn::Prod: return {a.folded * b.folded, 0, -1};
    case op::ScanFn::Max: return a.place < 0 || beats<true>(b.folded, a.folded) ? b : a;
    case op::ScanFn::Min: return a.place < 0 || beats<false>(b.folded, a.folded) ? b : a;
    case op::ScanFn::LogSumExp: {
      const bool later = b.folded > a.folded || b.folded != b.folded;
      const Carry<C>&high = later ? b : a, &low = later ? a : b;
      if (std::isinf(high.folded)) return high;
      return {high.folded, high.scale + low.scale * std::exp(low.folded - high.folded), -1};
    }
  }
  return a;
}

/// Scans x, computing in C. Elements of other types are converted to C and back, a block at a time.
template <class C>
class LineScan {
 public:
  LineScan(const op::Scan& op, const Array& x, const Array& z, std::int64_t* places)
      : op_(op), x_(x), z_(z), places_(places), lines_(x.shape, op.dim), start_(start_of<C>(op.fn)) {
    lines_at_once_ = lines_.inner == 1 ? kContiguousLines : std::min(lines_.inner, kScanColumns);
    const std::int64_t piece = limited_grain(std::max<std::int64_t>(64, kWork / lines_at_once_));
    const bool cut = lines_.length > 2 * piece && lines_.count() < 16 * lines_at_once_;
    rows_ = cut ? piece : lines_.length;
    pieces_ = (lines_.length + rows_ - 1) / rows_;
    pieces_at_once_ = cut && lines_.inner == 1;
    direct_in_ = size_of(x.dtype) == sizeof(C) && is_float(x.dtype) == std::is_floating_point_v<C>;
    direct_out_ = z.dtype == dtype_of<C>;
  }

  void run() {
    if (pieces_ > 1) {
      carries_.resize(static_cast<std::size_t>(lines_.count() * pieces_));
      each_strip([&](const ScanTask& strip) { run_along(strip, false); });
      for (std::int64_t line = 0; line < lines_.count(); ++line) {
        Carry<C> before = start_;
        for (std::int64_t piece = 0; piece < pieces_; ++piece) {
          const Carry<C> total = std::exchange(carry(line, piece), before);
          before = join(op_.fn, before, total);
        }
      }
    }
    each_strip([&](const ScanTask& strip) { run_along(strip, true); });
  }

 private:
  /// The unit of work: `rows` elements of each of `columns` lines from `line` on, or (if pieces_at_once_) of each of
  /// `columns` pieces of one line, from `piece` on.
  struct ScanTask {
    std::int64_t line, piece, rows, columns;
  };

  template <class F>
  void each_strip(F&& f) {
    const std::int64_t across = lines_.inner == 1 ? lines_.outer : lines_.inner;  // lines that can be scanned at once
    const std::int64_t groups = ((pieces_at_once_ ? pieces_ : across) + lines_at_once_ - 1) / lines_at_once_;
    const std::int64_t rest = pieces_at_once_ ? lines_.outer : lines_.count() / across * pieces_;
    const std::int64_t grain = std::max<std::int64_t>(1, kWork / (rows_ * lines_at_once_));
    parallel_for(groups * rest, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t item = begin; item < end; ++item) {
        const std::int64_t first = item % groups * lines_at_once_, other = item / groups;
        if (pieces_at_once_) {
          // The last piece may be shorter than the others, and is a strip of its own.
          const std::int64_t last = pieces_ - 1, whole = std::min(lines_at_once_, last - first);
          if (whole > 0) f(ScanTask{other, first, rows_, whole});
          if (first + lines_at_once_ > last) f(ScanTask{other, last, rows_of(last), 1});
        } else {
          const std::int64_t piece = other % pieces_;
          f(ScanTask{other / pieces_ * across + first, piece, rows_of(piece),
                     std::min(lines_at_once_, across - first)});
        }
      }
    });
  }
  std::int64_t rows_of(std::int64_t piece) const { return std::min(rows_, lines_.length - piece * rows_); }

  Carry<C>& carry(std::int64_t line, std::int64_t piece) {
    return carries_[static_cast<std::size_t>(line * pieces_ + piece)];
  }
  Carry<C>& carry(const ScanTask& strip, std::int64_t column) {
    return pieces_at_once_ ? carry(strip.line, strip.piece + column) : carry(strip.line + column, strip.piece);
  }

  void run_along(const ScanTask& strip, bool write);

  op::Scan op_;
  Array x_, z_;
  std::int64_t* places_;
  Lines lines_;
  Carry<C> start_;
  std::int64_t lines_at_once_, rows_, pieces_;
  bool pieces_at_once_, direct_in_, direct_out_;
  std::vector<Carry<C>> carries_;
};

template <class C>
void LineScan<C>::run_along(const ScanTask& strip, bool write) {
  ScanState<C> running;
  for (std::int64_t i = 0; i < strip.columns; ++i) {
    const Carry<C>& from = write && pieces_ > 1 ? carry(strip, i) : start_;
    running.folded[i] = from.folded;
    running.scale[i] = from.scale;
    running.place[i] = from.place;
  }

  const std::int64_t inner = lines_.inner, direction = op_.reverse ? -1 : 1, columns = strip.columns;
  const Steps steps{direction * inner, inner > 1 ? 1 : pieces_at_once_ ? direction * rows_ : lines_.length};
  const bool extremes = places_ && write, direct = direct_in_ && (direct_out_ || !write);
  const std::int64_t height = direct ? strip.rows : std::max<std::int64_t>(1, kStage / columns);
  C in[kStage], out[kStage];

  for (std::int64_t begin = 0; begin < strip.rows; begin += height) {
    const std::int64_t rows = std::min(height, strip.rows - begin), met = strip.piece * rows_ + begin;
    const std::int64_t place = op_.reverse ? lines_.length - 1 - met : met;
    const std::int64_t first = (strip.line / inner * lines_.length + place) * inner + strip.line % inner;
    const std::int64_t back = op_.reverse ? rows - 1 : 0;  // from the first row in memory to the first one scanned
    // Calls f(offset in memory, offset in a stage, count) for runs of elements that are contiguous in both.
    const auto each_run = [&](auto&& f) {
      if (inner == 1)
        for (std::int64_t i = 0; i < columns; ++i) f(first - back + i * steps.column, i * rows, rows);
      else if (columns == inner) f(first - back * inner, 0, rows * columns);
      else
        for (std::int64_t i = 0; i < rows; ++i) f(first + (i - back) * inner, i * columns, columns);
    };
    const Steps staged = inner == 1 ? Steps{direction, rows} : Steps{direction * columns, 1};
    const std::int64_t staged_first = inner == 1 ? back : back * columns;

    ScanBlock<C> block{.rows = rows, .columns = columns, .x = x_.as<C>() + first, .x_steps = steps};
    if (!direct_in_) {
      each_run([&](std::int64_t from, std::int64_t to, std::int64_t count) {
        convert(x_.dtype, x_.data + from * static_cast<std::int64_t>(size_of(x_.dtype)), dtype_of<C>, in + to, count);
      });
      block.x = in + staged_first;
      block.x_steps = staged;
    }
    block.z_steps = direct_out_ ? steps : staged;
    if (write) block.z = direct_out_ ? z_.as<C>() + first : out + staged_first;
    if (extremes) block.places = places_ + first;
    block.places_steps = steps;
    block.place = place;
    block.place_steps = {direction, pieces_at_once_ ? steps.column : 0};
    scan_kernels<C>().scan(op_.fn, op_.exclusive, block, running);
    if (write && !direct_out_)
      each_run([&](std::int64_t to, std::int64_t from, std::int64_t count) {
        convert(dtype_of<C>, out + from, z_.dtype, z_.data + to * static_cast<std::int64_t>(size_of(z_.dtype)), count);
      });
  }
  if (write) return;
  for (std::int64_t i = 0; i < columns; ++i) carry(strip, i) = {running.folded[i], running.scale[i], running.place[i]};
}

template <class C>
void scan(const op::Scan& op, const Array& x, const Array& z, std::int64_t* places) {
  LineScan<C>(op, x, z, places).run();
}

template <class C>
void recur(const op::Recurrence& op, const Array& a, const Array& b, const Array& y) {
  const Lines lines(y.shape, op.dim);
  const std::int64_t inner = lines.inner, across = inner == 1 ? lines.outer : inner;
  const std::int64_t abreast = inner == 1 ? kContiguousLines : std::min(inner, kScanColumns);
  const std::int64_t groups = (across + abreast - 1) / abreast;
  const Steps steps{op.reverse ? -inner : inner, inner == 1 ? lines.length : 1};
  parallel_for(groups * (lines.count() / across), std::max<std::int64_t>(1, kWork / (lines.length * abreast)),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t item = begin; item < end; ++item) {
                   const std::int64_t column = item % groups * abreast;
                   const std::int64_t line = item / groups * across + column;
                   const std::int64_t first =
                       (line / inner * lines.length + (op.reverse ? lines.length - 1 : 0)) * inner + line % inner;
                   scan_kernels<C>().recur(a.as<C>() + first, b.as<C>() + first, y.as<C>() + first, lines.length,
                                           std::min(abreast, across - column), steps);
                 }
               });
}

}  // namespace

bool run(const op::Scan& op, Call call) {
  const bool extremes = op.fn == op::ScanFn::Max || op.fn == op::ScanFn::Min;
  if (call.in[0].dtype() == DType::U64 && extremes) return false;  // int64 does not hold all of them
  Value held;
  const Array x = read_contiguous(call.in[0], held), z = allocate(call.out[op::Scan::values]);
  auto* places = extremes ? allocate(call.out[op::Scan::indices]).as<std::int64_t>() : nullptr;
  if (x.numel() == 0) return true;
  if (x.dtype == DType::F64) scan<double>(op, x, z, places);
  else if (is_float(x.dtype)) scan<float>(op, x, z, places);
  else scan<std::int64_t>(op, x, z, places);
  return true;
}

bool run(const op::Recurrence& op, Call call) {
  const DType dtype = call.in[0].dtype();
  if (dtype != DType::F32 && dtype != DType::F64) return false;
  Value held_a, held_b;
  const Array a = read_contiguous(call.in[op::Recurrence::a], held_a);
  const Array b = read_contiguous(call.in[op::Recurrence::b], held_b), y = allocate(call.out[0]);
  if (y.numel() == 0) return true;
  if (dtype == DType::F64) recur<double>(op, a, b, y);
  else recur<float>(op, a, b, y);
  return true;
}

}  // namespace kiln::cpu::simd

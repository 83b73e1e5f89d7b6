// Losses over all alignments. The forward and the backward recursion over the lattice of each sequence are computed in
// double precision. The backward recursion also gives the probability of each step of the lattice. Each thread computes
// some of the sequences.
#include "kiln/ops/loss/ctc_transducer_ops.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/backend/cpu/simd/elementwise/convert.hpp"
#include "kiln/core/parallel.hpp"

namespace kiln::cpu::simd {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

/// log(exp(a) + exp(b))
double log_add(double a, double b) {
  if (a < b) std::swap(a, b);
  return b == kNever ? a : a + std::log1p(std::exp(b - a));
}

std::vector<std::int64_t> lengths(std::string_view op, std::string_view what, const Value& value, std::int64_t least,
                                  std::int64_t most) {
  Value held;
  const Array array = read_contiguous(value, held);
  std::vector<std::int64_t> result(static_cast<std::size_t>(array.numel()));
  convert(array.dtype, array.data, DType::I64, result.data(), array.numel());
  for (std::size_t i = 0; i < result.size(); ++i)
    require<IndexError>(result[i] >= least && result[i] <= most, op, ": sequence ", i, " has ", result[i], " ", what,
                        ", which is not between ", least, " and ", most);
  return result;
}

/// A row-major array with rows of `columns` elements.
template <class T>
struct Rows {
  T* data;
  std::int64_t columns;
  T& operator()(std::int64_t row, std::int64_t column) const { return data[row * columns + column]; }
};

// ---- CTC -----------------------------------------------------------------------------------------------------------

/// Computes one sequence of `time` frames and `size` states. Returns the loss. The caller must fill `occupancy` with
/// zeros.
template <class T>
double ctc(Rows<const T> scores, const bool* skips, std::int64_t time, std::int64_t size, Rows<T> occupancy) {
  if (time == 0) return size == 1 ? 0 : -kNever;
  // A path in frame t is at most at state 2t + 1, and at least so far that it can still reach the end.
  const auto first = [&](std::int64_t t) { return std::max<std::int64_t>(0, size - 2 * (time - t)); };
  const auto beyond = [&](std::int64_t t) { return std::min(size, 2 * t + 2); };
  std::vector<double> memory(static_cast<std::size_t>(time * size), kNever);
  const Rows<double> alpha{memory.data(), size};
  for (std::int64_t s = first(0); s < beyond(0); ++s) alpha(0, s) = static_cast<double>(scores(0, s));
  for (std::int64_t t = 1; t < time; ++t)
    for (std::int64_t s = first(t); s < beyond(t); ++s) {
      double from = alpha(t - 1, s);
      if (s >= 1) from = log_add(from, alpha(t - 1, s - 1));
      if (s >= 2 && skips[s]) from = log_add(from, alpha(t - 1, s - 2));
      alpha(t, s) = from + static_cast<double>(scores(t, s));
    }
  const double total = size == 1 ? alpha(time - 1, 0) : log_add(alpha(time - 1, size - 1), alpha(time - 1, size - 2));
  if (total == kNever) return -kNever;

  // to[s] is the log probability of all paths from state s in the next frame to the end, with the emission in that
  // frame.
  std::vector<double> to(static_cast<std::size_t>(size) + 2, kNever), beta(to);
  for (std::int64_t t = time - 1; t >= 0; --t) {
    for (std::int64_t s = 0; s < size; ++s) {
      const auto at = static_cast<std::size_t>(s);
      if (t == time - 1) {
        beta[at] = s >= size - 2 ? 0 : kNever;
        continue;
      }
      beta[at] = log_add(to[at], to[at + 1]);
      if (s + 2 < size && skips[s + 2]) beta[at] = log_add(beta[at], to[at + 2]);
    }
    for (std::int64_t s = 0; s < size; ++s) {
      const auto at = static_cast<std::size_t>(s);
      occupancy(t, s) = static_cast<T>(std::exp(alpha(t, s) + beta[at] - total));
      to[at] = beta[at] + static_cast<double>(scores(t, s));
    }
  }
  return -total;
}

template <class T>
void run_ctc(Call call) {
  using op::Ctc;
  const Shape& shape = call.in[Ctc::scores].shape();
  const std::int64_t batch = shape[0], time = shape[1], width = shape[2];
  Value held[2];
  const T* scores = read_contiguous(call.in[Ctc::scores], held[0]).as<const T>();
  const bool* skips = read_contiguous(call.in[Ctc::skips], held[1]).as<const bool>();
  const auto times = lengths("ctc", "frames", call.in[Ctc::times], 0, time);
  const auto sizes = lengths("ctc", "states", call.in[Ctc::sizes], 1, width);
  T* loss = allocate(call.out[Ctc::loss]).as<T>();
  T* occupancy = allocate(call.out[Ctc::occupancy]).as<T>();
  parallel_for(batch, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) {
      T* passed = occupancy + b * time * width;
      std::fill_n(passed, time * width, T{0});
      const auto at = static_cast<std::size_t>(b);
      loss[b] = static_cast<T>(
          ctc<T>({scores + b * time * width, width}, skips + b * width, times[at], sizes[at], {passed, width}));
    }
  });
}

// ---- RNN-T ---------------------------------------------------------------------------------------------------------

template <class T>
struct Lattice {
  Rows<const T> blanks, labels;
  Rows<T> blank_occupancy, label_occupancy;
};

template <class T>
double rnnt(const Lattice<T>& x, std::int64_t time, std::int64_t size) {
  if (time == 0) return -kNever;
  const std::int64_t width = size + 1;
  std::vector<double> memory(static_cast<std::size_t>(time * width));
  const Rows<double> alpha{memory.data(), width};
  for (std::int64_t t = 0; t < time; ++t)
    for (std::int64_t u = 0; u < width; ++u) {
      const double by_blank = t == 0 ? kNever : alpha(t - 1, u) + static_cast<double>(x.blanks(t - 1, u));
      const double by_label = u == 0 ? kNever : alpha(t, u - 1) + static_cast<double>(x.labels(t, u - 1));
      alpha(t, u) = t == 0 && u == 0 ? 0 : log_add(by_blank, by_label);
    }
  const double total = alpha(time - 1, size) + static_cast<double>(x.blanks(time - 1, size));
  if (total == kNever) return -kNever;

  // beta[u] is the log probability of all paths to the end from the next frame after u labels. After the last frame
  // only the path with all labels is at the end.
  std::vector<double> beta(static_cast<std::size_t>(width), kNever);
  beta.back() = 0;
  for (std::int64_t t = time - 1; t >= 0; --t)
    for (std::int64_t u = size; u >= 0; --u) {
      const auto at = static_cast<std::size_t>(u);
      const double by_blank = beta[at] + static_cast<double>(x.blanks(t, u));
      const double by_label = u == size ? kNever : beta[at + 1] + static_cast<double>(x.labels(t, u));
      x.blank_occupancy(t, u) = static_cast<T>(std::exp(alpha(t, u) + by_blank - total));
      if (u < size) x.label_occupancy(t, u) = static_cast<T>(std::exp(alpha(t, u) + by_label - total));
      beta[at] = log_add(by_blank, by_label);
    }
  return -total;
}

template <class T>
void run_rnnt(Call call) {
  using op::Rnnt;
  const Shape& shape = call.in[Rnnt::blanks].shape();
  const std::int64_t batch = shape[0], time = shape[1], width = shape[2];
  Value held[2];
  const T* blanks = read_contiguous(call.in[Rnnt::blanks], held[0]).as<const T>();
  const T* labels = read_contiguous(call.in[Rnnt::labels], held[1]).as<const T>();
  const auto times = lengths("rnnt", "frames", call.in[Rnnt::times], 0, time);
  const auto sizes = lengths("rnnt", "labels", call.in[Rnnt::sizes], 0, width - 1);
  T* loss = allocate(call.out[Rnnt::loss]).as<T>();
  T* blank_occupancy = allocate(call.out[Rnnt::blank_occupancy]).as<T>();
  T* label_occupancy = allocate(call.out[Rnnt::label_occupancy]).as<T>();
  parallel_for(batch, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) {
      const std::int64_t all = b * time * width, next = b * time * (width - 1);
      std::fill_n(blank_occupancy + all, time * width, T{0});
      std::fill_n(label_occupancy + next, time * (width - 1), T{0});
      const auto at = static_cast<std::size_t>(b);
      loss[b] = static_cast<T>(rnnt<T>({{blanks + all, width},
                                        {labels + next, width - 1},
                                        {blank_occupancy + all, width},
                                        {label_occupancy + next, width - 1}},
                                       times[at], sizes[at]));
    }
  });
}

}  // namespace

bool run(const op::Ctc&, Call call) {
  call.in[op::Ctc::scores].dtype() == DType::F64 ? run_ctc<double>(call) : run_ctc<float>(call);
  return true;
}
bool run(const op::Rnnt&, Call call) {
  call.in[op::Rnnt::blanks].dtype() == DType::F64 ? run_rnnt<double>(call) : run_rnnt<float>(call);
  return true;
}

}  // namespace kiln::cpu::simd

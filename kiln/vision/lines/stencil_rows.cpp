#include "kiln/vision/lines/stencil_rows.hpp"

#include <algorithm>
#include <vector>

#include "kiln/core/parallel.hpp"
#include "kiln/vision/lines/border.hpp"
#include "kiln/vision/lines/stencil_lines.hpp"

namespace kiln::vision {
namespace {

constexpr std::int64_t kMostLines = 2048;       // of all steps, for one of the result
constexpr std::int64_t kMostTapsOfStep = 1024;  // of a step

/// The lines of a step, or of the picture, that are kept until nobody reads them any more.
struct Lines {
  Reach reach;
  std::int64_t kept = 1;    // lines
  std::int64_t length = 0;  // elements of a line
  std::int64_t stride = 0;  // from line to line: kernels read and write up to kSlack elements too far
  float* memory = nullptr;

  /// The element that belongs to column 0 of the result.
  float* at(std::int64_t row) const {
    const std::int64_t line = (row % kept + kept) % kept;
    return memory + line * stride - reach.first_column;
  }
};

/// An element that a step reads for each of its own.
struct Tap {
  std::size_t from;  // the place of its Lines
  std::int64_t row, column;
};

/// The lines with which one thread runs a stencil over planes.
class Worker {
 public:
  Worker(const Stencil& stencil, float outside, const Planes& planes)
      : stencil_(stencil),
        outside_(outside),
        planes_(planes),
        taps_(stencil.steps.size()),
        weights_(stencil.steps.size()) {
    const std::size_t count = stencil.steps.size();
    const std::vector<Reach> reaches = reaches_of(stencil);
    for (const Reach& reach : reaches) lines_.push_back({.reach = reach});
    for (std::size_t i = 0; i < count; ++i) add_taps(i);
    std::size_t elements = 0;
    for (Lines& lines : lines_) {
      lines.length = planes.columns + lines.reach.last_column - lines.reach.first_column;
      lines.stride = (lines.length + kSlack) / kSlack * kSlack + kSlack;
      elements += static_cast<std::size_t>(lines.kept * lines.stride);
    }
    memory_.resize(elements + kSlack);
    float* next = memory_.data();
    for (Lines& lines : lines_) lines.memory = next, next += lines.kept * lines.stride;
    looks_for_nan_ = std::ranges::any_of(stencil.steps, [](const Step& step) { return step.fold != Fold::Sum; });
    for (const Lines& lines : lines_) before_ = std::max(before_, lines.reach.last_row - lines.reach.first_row);
  }

  /// Rows [begin, end) of one plane.
  void run(const float* x, std::int64_t begin, std::int64_t end, float* y) {
    has_nan_ = false;
    const std::size_t count = stencil_.steps.size();
    for (std::int64_t row = begin - before_; row < end; ++row) {
      const auto is_due = [&](std::size_t i) {
        const Reach& reach = lines_[i].reach;
        return row + reach.last_row >= begin + reach.first_row;
      };
      if (is_due(count)) read_line(x, row + lines_[count].reach.last_row);
      for (std::size_t i = 0; i + 1 < count; ++i)
        if (is_due(i)) fold(i, row + lines_[i].reach.last_row, lines_[i].length, nullptr);
      if (row >= begin) fold(count - 1, row, planes_.columns, y + row * planes_.columns);
    }
  }

 private:
  void add_taps(std::size_t i) {
    for (const Window& window : stencil_.steps[i].windows) {
      const std::size_t from = window.step < 0 ? stencil_.steps.size() : static_cast<std::size_t>(window.step);
      // A line is read from when the first step needs it until the last one does, which may lag behind.
      Lines& lines = lines_[from];
      lines.kept = std::max(lines.kept, lines.reach.last_row - lines_[i].reach.last_row - window.row + 1);
      for (std::int64_t k = 0; k < window.rows * window.columns; ++k) {
        const double weight = window.weights.empty() ? 1 : window.weights[static_cast<std::size_t>(k)];
        if (weight == 0) continue;
        taps_[i].push_back({from, window.row + k / window.columns, window.column + k % window.columns});
        weights_[i].push_back(static_cast<float>(weight));
      }
    }
    if (!taps_[i].empty()) return;
    const Window& window = stencil_.steps[i].windows[0];  // of weights that are all 0
    taps_[i].push_back(
        {window.step < 0 ? stencil_.steps.size() : static_cast<std::size_t>(window.step), window.row, window.column});
    weights_[i].push_back(0);
  }

  /// A row of the picture, or of what continues it.
  void read_line(const float* x, std::int64_t row) {
    const Lines& lines = lines_.back();
    const std::int64_t place = place_of(row, planes_.rows, stencil_.border), size = planes_.columns;
    float* const to = lines.at(row);
    if (place < 0) {
      std::fill(to + lines.reach.first_column, to + size + lines.reach.last_column, outside_);
      return;
    }
    const float* const from = x + place * size;
    if (looks_for_nan_) has_nan_ = copy_and_find_nan(from, to, size) || has_nan_;
    else std::copy_n(from, size, to);
    const auto continued = [&](std::int64_t i) {
      const std::int64_t there = place_of(i, size, stencil_.border);
      return there < 0 ? outside_ : from[there];
    };
    for (std::int64_t i = lines.reach.first_column; i < 0; ++i) to[i] = continued(i);
    for (std::int64_t i = size; i < size + lines.reach.last_column; ++i) to[i] = continued(i);
  }

  /// Row `row` of step i, into its own lines, or to `result`.
  void fold(std::size_t i, std::int64_t row, std::int64_t count, float* result) {
    const std::int64_t first = lines_[i].reach.first_column;
    from_.clear();
    for (const Tap& tap : taps_[i]) from_.push_back(lines_[tap.from].at(row + tap.row) + first + tap.column);
    const Step& step = stencil_.steps[i];
    LineFold line{.fold = step.fold,
                  .careful = has_nan_,
                  .from = from_.data(),
                  .weights = weights_[i].data(),
                  .taps = from_.size(),
                  .scale = static_cast<float>(step.scale),
                  .delta = static_cast<float>(step.delta)};
    if (!result) {
      fold_line(line, lines_[i].at(row) + first, count);
      return;
    }
    const std::int64_t whole = count / kSlack * kSlack;
    fold_line(line, result, whole);
    if (whole == count) return;
    for (const float*& from : from_) from += whole;
    alignas(64) float rest[kSlack];
    fold_line(line, rest, count - whole);
    std::copy_n(rest, count - whole, result + whole);
  }

  const Stencil& stencil_;
  const float outside_;
  const Planes planes_;
  std::vector<Lines> lines_;  // of the steps, and of the picture
  std::vector<std::vector<Tap>> taps_;
  std::vector<std::vector<float>> weights_;
  std::vector<float> memory_;
  std::vector<const float*> from_;
  std::int64_t before_ = 0;  // how many rows before the first that is asked for are begun with
  bool looks_for_nan_ = false, has_nan_ = false;
};

std::int64_t taps_of(const Step& step) {
  std::int64_t taps = 0;
  for (const Window& window : step.windows) taps += window.rows * window.columns;
  return taps;
}

}  // namespace

bool has_rows(const Stencil& stencil) {
  std::int64_t lines = 0;
  for (const Reach& reach : reaches_of(stencil)) lines += reach.last_row - reach.first_row + 1;
  return lines <= kMostLines && std::ranges::all_of(stencil.steps, [](const Step& step) {
           const std::int64_t taps = taps_of(step);
           return step.fold == Fold::Median ? taps == 9 || taps == 25 : taps <= kMostTapsOfStep;
         });
}

void run_stencil_rows(const Stencil& stencil, float outside, const float* x, const Planes& planes, float* y) {
  const Reach all = reaches_of(stencil).back();
  // The lines around a chunk that it computes are a small part of all.
  const std::int64_t grain = std::max<std::int64_t>(64, 16 * (all.last_row - all.first_row));
  parallel_for(planes.count * planes.rows, grain, [&](std::int64_t begin, std::int64_t end) {
    Worker worker(stencil, outside, planes);
    while (begin < end) {  // the rows of one plane
      const std::int64_t plane = begin / planes.rows, first = plane * planes.rows;
      const std::int64_t last = std::min(end, first + planes.rows), offset = first * planes.columns;
      worker.run(x + offset, begin - first, last - first, y + offset);
      begin = last;
    }
  });
}

}  // namespace kiln::vision

#include "kiln/train/show/plot.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <utility>

#include "kiln/core/error/error.hpp"

namespace kiln {
namespace {

constexpr int kAxis = 11;  // characters of the value range

/// Dots in cells of two by four, and the series that drew last in each cell.
class Dots {
 public:
  Dots(int width, int height)
      : width_(width), height_(height), bits_(static_cast<std::size_t>(width * height)), owner_(bits_.size()) {}

  int columns() const { return 2 * width_; }
  int rows() const { return 4 * height_; }

  /// Bresenham's line.
  void line(int x0, int y0, int x1, int y1, int owner) {
    const int dx = std::abs(x1 - x0), dy = -std::abs(y1 - y0), sx = x0 < x1 ? 1 : -1, sy = y0 < y1 ? 1 : -1;
    for (int error = dx + dy;;) {
      set(x0, y0, owner);
      if (x0 == x1 && y0 == y1) return;
      const int twice = 2 * error;
      if (twice >= dy) error += dy, x0 += sx;
      if (twice <= dx) error += dx, y0 += sy;
    }
  }

  /// A line of characters; `colour` gives the colour of a series, 0 for none.
  template <class F>
  std::string letters(int row, F&& colour) const {
    std::string out;
    int now = 0;
    for (int x = 0; x < width_; ++x) {
      const auto cell = static_cast<std::size_t>(row * width_ + x);
      const int wanted = bits_[cell] ? colour(owner_[cell]) : 0;
      if (wanted != now) out += wanted ? text("\x1b[", wanted, 'm') : "\x1b[39m";
      now = wanted;
      if (!bits_[cell]) out += ' ';
      else
        (out += "\xe2") += {static_cast<char>(0xa0 | bits_[cell] >> 6), static_cast<char>(0x80 | (bits_[cell] & 0x3f))};
    }
    return now ? out + "\x1b[39m" : out;
  }

 private:
  void set(int x, int y, int owner) {
    static constexpr unsigned char kBits[2][4] = {{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}};
    const auto cell = static_cast<std::size_t>(y / 4 * width_ + x / 2);
    bits_[cell] |= kBits[x % 2][y % 4];
    owner_[cell] = owner;
  }

  int width_, height_;
  std::vector<unsigned char> bits_;
  std::vector<int> owner_;
};

/// The index of the dot at a fraction of `count` dots; 0 for a fraction that is NaN.
int dot_at(double share, int count) {
  return share > 0 ? static_cast<int>(std::lround(std::min(share, 1.0) * (count - 1))) : 0;
}

}  // namespace

void Series::add(double step, double value) {
  if (!std::isfinite(step) || !std::isfinite(value) || seen++ % every != 0) return;
  points.push_back({step, value});
  if (points.size() < kMost) return;
  for (std::size_t i = 0; i < points.size() / 2; ++i) points[i] = points[2 * i];
  points.resize(points.size() / 2);
  every *= 2;
}

void Series::measure(const Reading& reading, bool complete) {
  if (complete || !measured()) {
    last = reading.value;
    known = reading.problem.empty();
    words = reading.words;
  }
  if (!complete || std::isnan(reading.value)) return;
  const bool before = measured();
  least = before ? std::min(least, reading.value) : reading.value;
  greatest = before ? std::max(greatest, reading.value) : reading.value;
}

Series& Histories::series(const std::string& split, const std::string& metric) {
  const auto found =
      std::find_if(all_.begin(), all_.end(), [&](const Series& s) { return s.split == split && s.metric == metric; });
  return found != all_.end() ? *found : all_.emplace_back(Series{split, metric});
}

void Histories::on(const training::Step& step) {
  series("step", "loss").add(static_cast<double>(step.at.step), step.loss);
  for (std::size_t i = 0; i < step.rates.size(); ++i)
    series("step", training::rate_name(i)).add(static_cast<double>(step.at.step), step.rates[i]);
}

void Histories::on(const training::Evaluation& evaluation) {
  for (const Reading& reading : evaluation.readings) {
    Series& own = series(evaluation.split, reading.name);
    if (!reading.words) own.add(static_cast<double>(evaluation.at.step), reading.value);
    own.measure(reading, evaluation.complete);
  }
}

std::vector<const Series*> Histories::rows() const {
  std::vector<const Series*> found;
  for (const Series& s : all_)
    if (s.split != "step") found.push_back(&s);
  return found;
}

std::vector<std::string> Histories::metrics() const {
  std::vector<std::string> names;
  for (const Series& s : all_)
    if (!s.words && std::find(names.begin(), names.end(), s.metric) == names.end()) names.push_back(s.metric);
  return names;
}

std::vector<const Series*> Histories::of(const std::string& metric) const {
  std::vector<const Series*> found;
  for (const Series& s : all_)
    if (s.metric == metric) found.push_back(&s);
  return found;
}

Histories::Flat Histories::flattened() const {
  Flat flat;
  for (const Series& s : all_) {
    if (s.words) continue;  // the next evaluation says them again
    flat.splits.push_back(s.split);
    flat.metrics.push_back(s.metric);
    flat.counts.push_back(std::ssize(s.points));
    flat.every.push_back(s.every);
    flat.seen.push_back(s.seen);
    flat.last.push_back(s.last);
    flat.least.push_back(s.least);
    flat.greatest.push_back(s.greatest);
    flat.known.push_back(s.known);
    for (const auto [step, value] : s.points) {
      flat.steps.push_back(step);
      flat.values.push_back(value);
    }
  }
  return flat;
}

void Histories::take(const Flat& flat) {
  const std::size_t size = flat.splits.size();
  require<DataError>(flat.metrics.size() == size && flat.counts.size() == size && flat.every.size() == size &&
                         flat.seen.size() == size && flat.steps.size() == flat.values.size() &&
                         flat.last.size() == size && flat.least.size() == size && flat.greatest.size() == size &&
                         flat.known.size() == size,
                     "curves: lists of different lengths");
  std::vector<Series> all;
  std::size_t at = 0;
  for (std::size_t i = 0; i < size; ++i) {
    Series& s = all.emplace_back(Series{flat.splits[i], flat.metrics[i]});
    const std::size_t left = flat.steps.size() - at, count = static_cast<std::size_t>(flat.counts[i]);
    require<DataError>(flat.every[i] >= 1 && flat.seen[i] >= 0 && count <= left, "curves: an unknown length");
    s.every = flat.every[i];
    s.seen = flat.seen[i];
    s.last = flat.last[i];
    s.least = flat.least[i];
    s.greatest = flat.greatest[i];
    s.known = flat.known[i] != 0;
    for (const std::size_t end = at + count; at < end; ++at) {
      require<DataError>(std::isfinite(flat.steps[at]) && std::isfinite(flat.values[at]),
                         "curves: a point that is no finite number");
      s.points.push_back({flat.steps[at], flat.values[at]});
    }
  }
  all_ = std::move(all);
}

int colour_of(const std::string& split) {
  if (split == "train") return 31;
  if (split == "valid") return 34;
  return split == "step" ? 90 : 32;
}

std::vector<Series::Point> smoothed(std::vector<Series::Point> points, double smoothing) {
  if (smoothing <= 0) return points;
  double mean = 0, weight = 0;
  for (auto& [step, value] : points) {
    mean = smoothing * mean + (1 - smoothing) * value;
    weight = smoothing * weight + (1 - smoothing);
    value = mean / weight;
  }
  return points;
}

namespace {

/// The points that are drawn, and their ranges, in the scale of the plot.
struct DrawnCurves {
  std::vector<std::vector<Series::Point>> curves{};
  double least = std::numeric_limits<double>::infinity(), most = -least, from, last;

  DrawnCurves(std::span<const Series* const> series, StepRange steps, const PlotStyle& style)
      : from(steps.from), last(std::isfinite(steps.to) ? steps.to : steps.from + 1) {
    for (const Series* const s : series) {
      auto& curve = curves.emplace_back();
      for (auto [step, value] : smoothed(s->points, style.smoothing)) {
        if (step < steps.from || step > steps.to || (style.logarithmic && value <= 0)) continue;
        if (style.logarithmic) value = std::log10(value);
        curve.push_back({step, value});
        least = std::min(least, value);
        most = std::max(most, value);
        last = std::max(last, step);
      }
    }
  }
  bool any() const { return least <= most; }
};

/// The numbers of steps below a plot: as many as have room, the last at its end.
std::string step_numbers(double from, double last, int width) {
  constexpr int kEach = 16;
  const int count = std::max(width / kEach, 1);
  std::string line;
  for (int i = 0; i <= count; ++i) {
    const std::string number = text(std::llround(from + (last - from) * i / count));
    const auto at = static_cast<std::size_t>(kAxis + (width - 1) * i / count);
    const std::size_t begin = i == 0 ? at : at + 1 - std::min(number.size(), at);
    if (begin < line.size() + (i > 0)) continue;
    line.resize(begin, ' ');
    line += number;
  }
  return line;
}

}  // namespace

std::vector<std::string> plot(std::span<const Series* const> series, int width, int height, StepRange steps,
                              bool colours, std::span<const int> own, const PlotStyle& style) {
  width = std::max(width - kAxis, 1);
  height = std::max(height - style.numbered, 1);
  const DrawnCurves shape(series, steps, style);
  const double least = shape.least, most = shape.most;
  Dots dots(width, height);
  for (std::size_t i = 0; i < series.size(); ++i) {
    int x0 = -1, y0 = 0;
    for (const auto [step, value] : shape.curves[i]) {
      const int x = dot_at((step - shape.from) / (shape.last - shape.from), dots.columns());
      // Halved, since the range of the values may be infinite.
      const int y = dot_at((most / 2 - value / 2) / (most / 2 - least / 2), dots.rows());
      dots.line(x0 < 0 ? x : x0, x0 < 0 ? y : y0, x, y, static_cast<int>(i));
      x0 = x, y0 = y;
    }
  }
  std::vector<std::string> lines;
  constexpr int kBetween = 4;  // lines from one number to the next
  for (int row = 0; row < height; ++row) {
    char label[32] = "";
    const bool ends = row == 0 || row == height - 1;
    if (shape.any() && (ends || (style.numbered && row % kBetween == 0 && row + 2 < height))) {
      const double share = height > 1 ? static_cast<double>(row) / (height - 1) : 0;
      const double value = row == height - 1 && row > 0 ? least : most * (1 - share) + least * share;
      std::snprintf(label, sizeof label, "%.4g", style.logarithmic ? std::pow(10, value) : value);
    }
    char padded[40];
    std::snprintf(padded, sizeof padded, "%*s ", kAxis - 1, label);
    lines.push_back(padded + dots.letters(row, [&](int owner) {
      const auto at = static_cast<std::size_t>(owner);
      return !colours ? 0 : at < own.size() ? own[at] : colour_of(series[at]->split);
    }));
  }
  if (style.numbered) lines.push_back(shape.any() ? step_numbers(shape.from, shape.last, width) : "");
  return lines;
}

}  // namespace kiln

#include "kiln/ops/spatial/resample_ops.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kiln/ops/check.hpp"
#include "kiln/ops/emit.hpp"
#include "kiln/ops/vjp.hpp"

namespace kiln::op {
namespace {

/// Keys, "Cubic convolution interpolation for digital image processing", 1981.
double keys(double x, double a) {
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return ((x - 5) * x + 8) * x * a - 4 * a;
  return 0;
}

double lanczos(double x) {
  constexpr double kPi = 3.14159265358979323846;
  if (x == 0) return 1;
  if (std::abs(x) >= 3) return 0;
  return 3 * std::sin(kPi * x) * std::sin(kPi * x / 3) / (kPi * kPi * x * x);
}

double kernel(Interpolation mode, bool antialias, double x) {
  switch (mode) {
    case Interpolation::Cubic: return keys(x, antialias ? -0.5 : -0.75);
    case Interpolation::Lanczos3: return lanczos(x);
    default: return std::max(0.0, 1 - std::abs(x));
  }
}

std::int64_t radius(Interpolation mode) {
  return mode == Interpolation::Lanczos3 ? 3 : mode == Interpolation::Cubic ? 2 : 1;
}

/// The integer part, limited to the integers that doubles represent: a user's factor may give absurd positions.
std::int64_t whole(double x) { return static_cast<std::int64_t>(std::clamp(std::floor(x), -0x1p52, 0x1p52)); }

/// Collects the rows of a map, and keeps of each row the part from its first to its last nonzero weight, so that
/// elements of weight 0 have no influence even if they are infinite.
class Band {
 public:
  explicit Band(std::int64_t from) : from_(from) {}

  /// Adds a row: weights of the elements from `begin` on. Weights beyond an edge are added to the element at the edge.
  void add_clamped(std::int64_t begin, std::initializer_list<double> weights) {
    const std::int64_t last = begin + static_cast<std::int64_t>(weights.size()) - 1;
    const std::int64_t low = std::clamp<std::int64_t>(begin, 0, from_ - 1);
    row_.assign(static_cast<std::size_t>(std::clamp<std::int64_t>(last, 0, from_ - 1) - low + 1), 0.0);
    for (const double weight : weights)
      row_[static_cast<std::size_t>(std::clamp<std::int64_t>(begin++, 0, from_ - 1) - low)] += weight;
    finish(low);
  }
  /// Adds a row: weight(i) for the existing elements in [begin, end), scaled to a sum of 1.
  template <class F>
  void add_scaled(std::int64_t begin, std::int64_t end, F&& weight) {
    begin = std::clamp<std::int64_t>(begin, 0, from_ - 1);
    end = std::clamp<std::int64_t>(end, begin + 1, from_);
    row_.clear();
    double sum = 0;
    for (std::int64_t i = begin; i < end; ++i) {
      row_.push_back(weight(i));
      sum += row_.back();
    }
    if (sum != 0)
      for (double& entry : row_) entry /= sum;
    finish(begin);
  }

  Resample::Taps take() { return std::move(taps_); }

 private:
  void finish(std::int64_t begin) {
    std::size_t first = 0, last = row_.size();
    while (last - first > 1 && row_[first] == 0) ++first;
    while (last - first > 1 && row_[last - 1] == 0) --last;
    taps_.rows.push_back({begin + static_cast<std::int64_t>(first), static_cast<std::int64_t>(last - first),
                          static_cast<std::int64_t>(taps_.weights.size())});
    for (std::size_t i = first; i < last; ++i) taps_.weights.push_back(row_[i]);
  }

  std::int64_t from_;
  std::vector<double> row_;
  Resample::Taps taps_;
};

/// The distance in the operand between neighbours of the result.
double step_of(const Resample& op) {
  if (op.align_corners) return op.to > 1 ? static_cast<double>(op.from - 1) / static_cast<double>(op.to - 1) : 0.0;
  return op.step > 0 ? op.step : static_cast<double>(op.from) / static_cast<double>(op.to);
}

Resample::Taps forward_taps(const Resample& op) {
  const auto from = static_cast<double>(op.from), to = static_cast<double>(op.to);
  const double step = step_of(op);
  Band band(op.from);
  for (std::int64_t i = 0; i < op.to; ++i) {
    const auto at = static_cast<double>(i);
    // A single quotient of integers, so that integral positions are exact.
    const auto place = [&](double index) { return op.step > 0 ? index * op.step : index * from / to; };
    const double centre = op.align_corners ? at * step + 0.5 : (at + 0.5) * step;  // from the edge of element 0
    switch (op.mode) {
      case Interpolation::Nearest: band.add_clamped(whole(place(at)), {1.0}); break;
      case Interpolation::NearestExact: band.add_clamped(whole(place(at + 0.5)), {1.0}); break;
      case Interpolation::Area:
        band.add_scaled(whole(at * from / to), -whole(-(at + 1) * from / to), [](std::int64_t) { return 1.0; });
        break;
      default: {
        const std::int64_t reach = radius(op.mode), low = whole(centre - 0.5);
        const double fraction = centre - 0.5 - static_cast<double>(low);
        const auto weight = [&](double distance) { return kernel(op.mode, op.antialias, distance); };
        if (op.antialias) {
          const double width = std::max(step, 1.0), support = static_cast<double>(reach) * width;
          band.add_scaled(whole(centre - support + 0.5), whole(centre + support + 0.5),
                          [&](std::int64_t k) { return weight((static_cast<double>(k) + 0.5 - centre) / width); });
        } else if (op.mode == Interpolation::Linear) {
          band.add_clamped(low, {1 - fraction, fraction});
        } else if (op.mode == Interpolation::Cubic) {
          band.add_clamped(low - 1,
                           {weight(fraction + 1), weight(fraction), weight(1 - fraction), weight(2 - fraction)});
        } else {
          band.add_scaled(low + 1 - reach, low + 1 + reach,
                          [&](std::int64_t k) { return weight(static_cast<double>(k - low) - fraction); });
        }
      }
    }
  }
  return band.take();
}

Resample::Taps transpose(const Resample::Taps& taps, std::int64_t columns) {
  struct Span {
    std::int64_t first = std::numeric_limits<std::int64_t>::max(), last = -1;
  };
  std::vector<Span> spans(static_cast<std::size_t>(columns));
  for (std::size_t i = 0; i < taps.rows.size(); ++i)
    for (std::int64_t k = 0; k < taps.rows[i].count; ++k) {
      Span& span = spans[static_cast<std::size_t>(taps.rows[i].begin + k)];
      span.first = std::min(span.first, static_cast<std::int64_t>(i));
      span.last = std::max(span.last, static_cast<std::int64_t>(i));
    }
  Resample::Taps result;
  std::int64_t total = 0;
  for (const Span& span : spans) {
    const bool used = span.last >= 0;
    result.rows.push_back({used ? span.first : 0, used ? span.last - span.first + 1 : 0, total});
    total += result.rows.back().count;
  }
  result.weights.assign(static_cast<std::size_t>(total), 0.0);
  for (std::size_t i = 0; i < taps.rows.size(); ++i)
    for (std::int64_t k = 0; k < taps.rows[i].count; ++k) {
      const auto& row = result.rows[static_cast<std::size_t>(taps.rows[i].begin + k)];
      result.weights[static_cast<std::size_t>(row.first + static_cast<std::int64_t>(i) - row.begin)] =
          taps.weights[static_cast<std::size_t>(taps.rows[i].first + k)];
    }
  return result;
}

}  // namespace

Resample::Taps Resample::taps() const {
  const Taps taps = forward_taps(*this);
  return transposed ? transpose(taps, from) : taps;
}

Descs Resample::infer(Inputs in) const {
  require_count(kName, in, 1, 1);
  require_float(kName, in[0]);
  const int at = require_dim(kName, dim, in[0].rank());
  require<ArgumentError>(from > 0 && to > 0, "resample: cannot resize dimension ", at, " of ", in[0], " from ", from,
                         " to ", to, " elements");
  const double reached = step * static_cast<double>(std::max(from, to));  // as a position; these are exact up to 2^53
  require<ArgumentError>(step >= 0 && reached <= 0x1p53, "resample: the step ", step, " is not a distance");
  require<ShapeError>(in[0].shape()[at] == (transposed ? to : from), "resample: dimension ", at, " of ", in[0],
                      " does not have ", transposed ? to : from, " elements");
  Shape shape = in[0].shape();
  shape[at] = transposed ? from : to;
  return one(shape, in[0].dtype());
}

void Resample::vjp(Backward& backward) const {
  backward.to(0, [&] {
    Resample adjoint = *this;
    adjoint.transposed = !transposed;
    return emit(adjoint, {backward.grad()});
  });
}

}  // namespace kiln::op

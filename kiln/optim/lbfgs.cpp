#include "kiln/optim/lbfgs.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "kiln/ops/read.hpp"

namespace kiln {
namespace {

// Nocedal, Wright, section 3.1: the constants of sufficient decrease and of curvature, relative to the slope at the
// start.
constexpr double kSufficientDecrease = 1e-4, kCurvature = 0.9;
// With differences of smaller curvature the direction might not be a descent direction (PyTorch's bound).
constexpr double kLeastCurvature = 1e-10;

/// Computed again in float64 if products left the range of float32.
double dot(const Value& a, const Value& b) {
  const double plain = sum(a * b).item();
  return std::isfinite(plain) && plain != 0 ? plain : sum(cast(a, DType::F64) * cast(b, DType::F64)).item();
}
double largest(const Value& x) { return x.numel() == 0 ? 0 : max(abs(x)).item(); }

/// The minimum within [low, high] of the cubic through two points of a function with given slopes (Nocedal, Wright,
/// equation 3.59); the middle if there is none.
template <class Point>
double cubic_minimum(Point a, Point b, double low, double high) {
  if (a.length > b.length) std::swap(a, b);
  const double d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.length - b.length);
  const double square = d1 * d1 - a.slope * b.slope;
  if (!(square >= 0)) return (low + high) / 2;
  const double d2 = std::sqrt(square);
  const double place = b.length - (b.length - a.length) * ((b.slope + d2 - d1) / (b.slope - a.slope + 2 * d2));
  return std::isnan(place) ? (low + high) / 2 : std::clamp(place, low, high);
}

}  // namespace

void LbfgsConfig::check() const {
  require<ArgumentError>(history >= 1 && iterations >= 1 && evaluations >= 2, "LbfgsConfig: history = ", history,
                         " and iterations = ", iterations, " must be positive, evaluations = ", evaluations,
                         " at least 2");
  rules::require_not_negative("Lbfgs",
                              {{"gradient_tolerance", gradient_tolerance}, {"change_tolerance", change_tolerance}});
}

Lbfgs LbfgsConfig::init(const nn::ModuleView& model) const { return Lbfgs(*this, trained_params("Lbfgs", model)); }

Lbfgs::Lbfgs(const LbfgsConfig& config, const std::vector<NamedParam>& params) : config_(config) {
  config_.check();
  for (const NamedParam& param : params) {
    size_ += param.value.numel();
    if (param.value.dtype() == DType::F64) dtype_ = DType::F64;
    halves_ = halves_ || size_of(param.value.dtype()) == 2;
  }
  device_ = params.at(0).value.device();
  state_.changes.resize(static_cast<std::size_t>(config.history));
  state_.steps.resize(static_cast<std::size_t>(config.history));
}

Values Lbfgs::parts(const Value& flat, const std::vector<NamedParam>& params) const {
  Values values;
  std::int64_t start = 0;
  for (const NamedParam& param : params) {
    const std::int64_t count = param.value.numel();
    values.push_back(cast(reshape(narrow(flat, 0, start, count), param.value.shape()), param.value.dtype()));
    start += count;
  }
  return values;
}

Value Lbfgs::flat(const std::vector<NamedParam>& params) const {
  Values all;
  std::int64_t start = 0;
  for (const NamedParam& param : params) {
    const Value plain = param.value.detach();
    Value part = reshape(cast(plain, dtype_), {plain.numel()});
    if (!state_.masters.empty()) {  // masters are used while they still round to the parameter
      const Value master = narrow(state_.masters, 0, start, plain.numel());
      part = where(eq(cast(cast(master, plain.dtype()), dtype_), part), master, part);
    }
    all.push_back(part);
    start += plain.numel();
  }
  return cat(all, 0);
}

Value Lbfgs::flat(const GradientsParams& grads, const std::vector<NamedParam>& params) const {
  Values all;
  for (const NamedParam& param : params) {
    const Value* const grad = grads.find(param.path);
    all.push_back(grad ? reshape(cast(*grad, dtype_), {param.value.numel()})
                       : zeros({param.value.numel()}, device_, dtype_));
  }
  return cat(all, 0);
}

/// Appends the last step, and the change of the gradient, to the history.
void Lbfgs::append_to_history(State& state, const Value& grad) const {
  const Value change = grad - state.grad, step = state.direction * state.length;
  const double curvature = dot(change, step);
  if (!(curvature > kLeastCurvature)) return;
  if (state.known == config_.history) {
    std::ranges::rotate(state.changes, state.changes.begin() + 1);
    std::ranges::rotate(state.steps, state.steps.begin() + 1);
    --state.known;
  }
  state.changes[static_cast<std::size_t>(state.known)] = change;
  state.steps[static_cast<std::size_t>(state.known)] = step;
  ++state.known;
  state.scale = curvature / dot(change, change);
}

/// The two-loop recursion of algorithm 7.4.
Value Lbfgs::direction(const State& state, const Value& grad) {
  Value q = -grad;
  std::vector<double> shares(static_cast<std::size_t>(state.known)), curvatures = shares;
  for (std::size_t i = shares.size(); i-- > 0;) {
    curvatures[i] = dot(state.changes[i], state.steps[i]);
    shares[i] = dot(state.steps[i], q) / curvatures[i];
    q = q - state.changes[i] * shares[i];
  }
  q = q * state.scale;
  for (std::size_t i = 0; i < shares.size(); ++i)
    q = q + state.steps[i] * (shares[i] - dot(state.changes[i], q) / curvatures[i]);
  return q;
}

/// A length along the direction that fulfils the strong Wolfe conditions, or the best of `most` tries after the first.
template <class At>
Lbfgs::Point Lbfgs::search(At&& at, const Point& start, double length, double longest, std::int64_t most) const {
  // NaN is too high, too.
  const auto too_high = [&](const Point& p) {
    return !(p.loss <= start.loss + kSufficientDecrease * p.length * start.slope);
  };
  const auto flat_enough = [&](const Point& p) { return std::abs(p.slope) <= -kCurvature * start.slope; };
  std::array<Point, 2> ends{start, at(length)};  // the previous point, and the latest
  std::int64_t tries = 0;
  for (; tries < most; ++tries) {
    const auto& [before, now] = ends;
    if (too_high(now) || (tries > 1 && now.loss >= before.loss)) break;
    if (flat_enough(now)) return now;
    if (now.slope >= 0) break;
    const double next = cubic_minimum(before, now, now.length + 0.01 * (now.length - before.length), now.length * 10);
    ends = {now, at(next)};
  }
  if (tries == most) ends[0] = start;

  // A suitable point lies between the two ends.
  const auto lower = [&] { return ends[1].loss < ends[0].loss ? 1U : 0U; };  // never NaN
  std::size_t low = lower();
  bool near_an_end = false;
  for (; tries < most; ++tries) {
    const auto [first, last] = std::minmax(ends[0].length, ends[1].length);
    if ((last - first) * longest < config_.change_tolerance) break;
    double next = cubic_minimum(ends[0], ends[1], first, last);
    const double margin = 0.1 * (last - first);
    const bool near = std::min(last - next, next - first) < margin;
    if (near && (near_an_end || next >= last || next <= first)) {
      next = last - next < next - first ? last - margin : first + margin;
      near_an_end = false;
    } else {
      near_an_end = near;
    }
    const Point now = at(next);
    if (too_high(now) || now.loss >= ends[low].loss) {
      ends[1 - low] = now;
      low = lower();
      continue;
    }
    if (flat_enough(now)) return now;
    if (now.slope * (ends[1 - low].length - ends[low].length) >= 0) ends[1 - low] = ends[low];
    ends[low] = now;
  }
  return ends[low];
}

double Lbfgs::minimise(double rate, const std::vector<NamedParam>& params, Evaluate evaluate) {
  require<ArgumentError>(std::isfinite(rate) && rate > 0, "Lbfgs: a learning rate of ", rate);
  std::int64_t elements = 0;
  for (const NamedParam& param : params) elements += param.value.numel();
  require<ArgumentError>(elements == size_, "Lbfgs: the model has ", elements, " elements to train, it had ", size_);

  State state = state_;
  Value x = flat(params);
  std::int64_t evaluations = 0;
  const auto at = [&](const Value& place) {
    ++evaluations;
    const auto [loss, grads] = evaluate(parts(place, params));
    return Point{loss, flat(grads, params)};
  };
  Point now = at(x);
  const double before = now.loss;
  for (std::int64_t i = 1; largest(now.grad) > config_.gradient_tolerance; ++i) {
    const bool first = state.iterations++ == 0;
    if (!first) append_to_history(state, now.grad);
    state.direction = first ? -now.grad : direction(state, now.grad);
    state.grad = now.grad;
    state.length = first ? rate * std::min(1.0, 1 / sum(abs(now.grad)).item()) : rate;
    const double last = now.loss;
    now.slope = dot(now.grad, state.direction);
    now.length = 0;
    if (now.slope > -config_.change_tolerance) break;

    const double longest = largest(state.direction);
    if (config_.line_search == LbfgsConfig::LineSearch::StrongWolfe) {
      const auto along = [&](double length) {
        Point point = at(x + state.direction * length);
        point.length = length;
        point.slope = dot(point.grad, state.direction);
        return point;
      };
      now = search(along, now, state.length, longest, config_.evaluations - evaluations);
      state.length = now.length;
    }
    x = x + state.direction * state.length;
    if (i == config_.iterations) break;
    if (config_.line_search == LbfgsConfig::LineSearch::None) now = at(x);
    if (evaluations >= config_.evaluations || longest * std::abs(state.length) <= config_.change_tolerance ||
        std::abs(now.loss - last) < config_.change_tolerance)
      break;
  }
  if (halves_) state.masters = x;
  Values made = parts(x, params);
  run_pending(made);
  values_ = std::move(made);
  state_ = std::move(state);
  return before;
}

}  // namespace kiln

#include "kiln/ops/loss/ctc_transducer_ops.hpp"

#include <algorithm>
#include <limits>

#include "kiln/ops/check.hpp"
#include "kiln/ops/emit.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/ops/scope/no_grad.hpp"
#include "kiln/ops/vjp.hpp"

namespace kiln::op {
namespace {

// The log-probability of impossible events, chosen so that sums and differences stay finite. A loss above kImpossible
// is infinite.
constexpr double kNever = -1e25, kImpossible = 5e24;
constexpr double kInfinite = std::numeric_limits<double>::infinity();

void require_lengths(std::string_view op, std::string_view what, const Value& lengths, std::int64_t batch) {
  require_index(op, lengths);
  require<ShapeError>(lengths.shape() == Shape{batch}, op, ": the ", what, " ", lengths, " must have shape ",
                      Shape{batch});
}
void require_scores(std::string_view op, const Value& scores) {
  require_tensor(op, scores);
  require<DTypeError>(scores.dtype() == DType::F32 || scores.dtype() == DType::F64, op,
                      ": takes float32 and float64, got ", scores);
}

Value never_below(const Value& x) { return maximum(x, kNever); }

/// 0, 1, ..., count - 1 on the device and in the element type of `like`.
Value counting(std::int64_t count, const Value& like) { return arange(0, count, 1, like.device(), like.dtype()); }

/// x [batch, n] with element i moved to i + by; positions without a source are impossible.
Value shifted(const Value& x, std::int64_t by) {
  const std::int64_t n = x.shape()[1], distance = by < 0 ? -by : by;
  const Value rest = full({x.shape()[0], std::min(n, distance)}, kNever, x.device(), x.dtype());
  if (distance >= n) return rest;
  const Value kept = narrow(x, 1, by < 0 ? distance : 0, n - distance);
  return by < 0 ? cat(Values{kept, rest}, 1) : cat(Values{rest, kept}, 1);
}

/// log(sum(exp(x))) over the last dimension.
Value log_sum(const Value& x) {
  const Value most = max(x, {-1}, true).detach();
  return squeeze(log(sum(exp(x - most), {-1}, true)) + most, -1);
}

/// The finite part of a loss, and whether the loss is finite.
struct Loss {
  Value value, possible;  // [batch]
  explicit Loss(const Value& log_total) : value(neg(log_total)), possible(logical_not(gt(value, kImpossible))) {}
  Value result() const { return where(possible, value, kInfinite); }
};

/// exp(log_share + loss) where the path may pass, else 0; no infinity occurs in between.
Value share(const Value& may_pass, const Value& log_share, const Value& loss) {
  return where(may_pass, exp(where(may_pass, log_share + loss, kNever)), 0.0);
}

}  // namespace

// ---- CTC -----------------------------------------------------------------------------------------------------------

Descs Ctc::infer(Inputs in) const {
  require_count(kName, in, 4, 4);
  require_scores(kName, in[scores]);
  const Shape& shape = in[scores].shape();
  require<ShapeError>(shape.size() == 3 && shape[2] >= 1, "ctc: scores must be [batch, time, state], got ", in[scores]);
  require<ShapeError>(in[skips] && in[skips].dtype() == DType::Bool && in[skips].shape() == Shape({shape[0], shape[2]}),
                      "ctc: skips must be booleans ", Shape{shape[0], shape[2]}, ", got ", in[skips]);
  require_lengths(kName, "times", in[times], shape[0]);
  require_lengths(kName, "sizes", in[sizes], shape[0]);
  Descs results;
  results.push_back({{shape[0]}, in[scores].dtype()});
  results.push_back({shape, in[scores].dtype()});
  return results;
}

Values Ctc::expand(Inputs in) const {
  const Value x = never_below(in[scores]), frames = unsqueeze(in[times], 1), states = unsqueeze(in[sizes], 1);
  const std::int64_t batch = x.shape()[0], time = x.shape()[1], width = x.shape()[2];
  const Value state = counting(width, states);
  const Value skip = where(in[skips], 0.0, full({}, kNever, x.device(), x.dtype()));
  const auto at_time = [&](std::int64_t t) { return at(x, 1, t); };

  // forward[t] sums over all paths to a state, including its emission; the start is state 0 before the first frame.
  const Value everywhere = zeros({batch, width}, x.device(), x.dtype());
  Value alpha = where(eq(state, 0), 0.0, everywhere + kNever);
  Values forward;
  for (std::int64_t t = 0; t < time; ++t) {
    const Value from = logaddexp(logaddexp(alpha, shifted(alpha, 1)), never_below(shifted(alpha, 2) + skip));
    alpha = where(gt(frames, t), never_below(from + at_time(t)), alpha);
    forward.push_back(alpha);
  }
  const Value last = logical_and(lt(state, states), ge(state, states - 2));
  const Loss total(log_sum(where(last, alpha, kNever)));
  if (time == 0) return {total.result(), x};

  // beta sums over all paths from a state to the end, without the state's emission.
  const Value end = where(last, everywhere, kNever);
  Value beta = end;
  Values occupied(static_cast<std::size_t>(time));
  for (std::int64_t t = time - 1; t >= 0; --t) {
    if (t + 1 < time) {
      const Value to = beta + at_time(t + 1);
      const Value skipped = shifted(never_below(to + skip), -2);
      beta = where(gt(frames, t + 1), never_below(logaddexp(logaddexp(to, shifted(to, -1)), skipped)), end);
    }
    const Value may_pass = logical_and(gt(frames, t), unsqueeze(total.possible, 1));
    occupied[static_cast<std::size_t>(t)] =
        share(may_pass, forward[static_cast<std::size_t>(t)] + beta, unsqueeze(total.value, 1));
  }
  return {total.result(), stack(occupied, 1)};
}

// Where the computation of the gradient is recorded, it must consist of functions that have gradients.
void Ctc::vjp(Backward& backward) const {
  backward.to(scores, [&] {
    const Value passed = grad_enabled()
                             ? expand(Values{backward.in(0), backward.in(1), backward.in(2), backward.in(3)})[occupancy]
                             : backward.out(occupancy);
    return neg(passed * reshape(backward.grad(loss), {-1, 1, 1}));
  });
}

// ---- RNN-T ---------------------------------------------------------------------------------------------------------

Descs Rnnt::infer(Inputs in) const {
  require_count(kName, in, 4, 4);
  require_scores(kName, in[blanks]);
  require_scores(kName, in[labels]);
  require_same_dtype(kName, in[blanks], in[labels]);
  const Shape &shape = in[blanks].shape(), &next = in[labels].shape();
  require<ShapeError>(shape.size() == 3 && shape[2] >= 1 && next == Shape({shape[0], shape[1], shape[2] - 1}),
                      "rnnt: blanks [batch, time, label + 1] and labels [batch, time, label] do not fit: ", shape,
                      " and ", next);
  require_lengths(kName, "times", in[times], shape[0]);
  require_lengths(kName, "sizes", in[sizes], shape[0]);
  Descs results;
  results.push_back({{shape[0]}, in[blanks].dtype()});
  results.push_back({shape, in[blanks].dtype()});
  results.push_back({next, in[blanks].dtype()});
  return results;
}

namespace {

/// Diagonal d of a lattice consists of the nodes with frame d - u after u labels: the nodes of a diagonal depend only
/// on the one before. Converts [batch, time, width] into [batch, diagonal, width] and back.
class Diagonals {
 public:
  Diagonals(std::int64_t time, std::int64_t width, const Value& like)
      : time_(time),
        width_(width),
        count_(time + width),
        frame_(counting(count_, like)),
        label_(counting(width, like)) {
    frame_ = unsqueeze(frame_, 1) - label_;  // [diagonal, width]
  }
  std::int64_t count() const { return count_; }
  /// The frame of each node, and whether that frame exists.
  const Value& frame() const { return frame_; }
  Value inside() const { return logical_and(ge(frame_, 0), lt(frame_, time_)); }

  Value skew(const Value& x) const {
    const Value row = clamp(frame_, 0, time_ - 1);
    return where(inside(), gather(x, 1, expand(row, {x.shape()[0], count_, width_})), kNever);
  }
  Value unskew(const Value& x) const {
    const Value diagonal = unsqueeze(counting(time_, label_), 1) + label_;
    return gather(x, 1, expand(diagonal, {x.shape()[0], time_, width_}));
  }

 private:
  std::int64_t time_, width_, count_;
  Value frame_, label_;
};

}  // namespace

Values Rnnt::expand(Inputs in) const {
  const std::int64_t batch = in[blanks].shape()[0], time = in[blanks].shape()[1], width = in[blanks].shape()[2];
  const DType dtype = in[blanks].dtype();
  const Device device = in[blanks].device();
  if (time == 0 || batch == 0) return {full({batch}, kInfinite, device, dtype), in[blanks] * 1.0, in[labels] * 1.0};
  const Value frames = reshape(in[times], {batch, 1, 1}), lengths = reshape(in[sizes], {batch, 1, 1});
  const Diagonals diagonals(time, width, in[times]);
  const Value u = counting(width, in[times]);
  const Value& t = diagonals.frame();

  // The possible steps: blanks from each frame of the sequence, labels while there are more.
  const Value in_time = logical_and(lt(t, frames), le(u, lengths));
  const Value blank = where(in_time, diagonals.skew(never_below(in[blanks])), kNever);
  const Value padded = cat(Values{never_below(in[labels]), full({batch, time, 1}, kNever, device, dtype)}, 2);
  const Value label = where(logical_and(in_time, lt(u, lengths)), diagonals.skew(padded), kNever);
  const Value is_end = logical_and(eq(t, frames), eq(u, lengths));  // [batch, diagonal, width]

  const std::int64_t count = diagonals.count();
  Value alpha = where(eq(u, 0), zeros({batch, width}, device, dtype), kNever);
  Values forward{alpha};
  for (std::int64_t d = 1; d < count; ++d) {
    const Value by_blank = alpha + at(blank, 1, d - 1), by_label = shifted(alpha + at(label, 1, d - 1), 1);
    forward.push_back(alpha = never_below(logaddexp(by_blank, by_label)));
  }
  const Value reached = stack(forward, 1);
  const Loss total(log_sum(reshape(where(is_end, reached, kNever), {batch, -1})));

  const Value nothing = full({batch, width}, kNever, device, dtype);
  Value beta = where(at(is_end, 1, count - 1), 0.0, nothing);
  Values backward{beta};  // from the last diagonal to the first
  for (std::int64_t d = count - 2; d >= 0; --d) {
    const Value by_blank = at(blank, 1, d) + beta, by_label = at(label, 1, d) + shifted(beta, -1);
    beta = where(at(is_end, 1, d), 0.0, never_below(logaddexp(by_blank, by_label)));
    backward.push_back(beta);
  }
  backward.insert(backward.begin(), nothing);
  const Value left = flip(stack(backward, 1), {1});  // [batch, count + 1, width]: for each diagonal and one beyond
  const Value after_blank = narrow(left, 1, 1, count);
  const Value after_label =
      cat(Values{narrow(after_blank, 2, 1, width - 1), full({batch, count, 1}, kNever, device, dtype)}, 2);

  const Value possible = logical_and(in_time, reshape(total.possible, {batch, 1, 1}));
  const Value loss_value = reshape(total.value, {batch, 1, 1});
  const Value blank_share = share(possible, reached + blank + after_blank, loss_value);
  const Value label_share = share(possible, reached + label + after_label, loss_value);
  return {total.result(), diagonals.unskew(blank_share), narrow(diagonals.unskew(label_share), 2, 0, width - 1)};
}

void Rnnt::vjp(Backward& backward) const {
  if (!backward.wants(blanks) && !backward.wants(labels)) return;
  const Values passed = grad_enabled() ? expand(Values{backward.in(0), backward.in(1), backward.in(2), backward.in(3)})
                                       : Values{{}, backward.out(blank_occupancy), backward.out(label_occupancy)};
  const Value slope = reshape(backward.grad(loss), {-1, 1, 1});
  backward.to(blanks, [&] { return neg(passed[blank_occupancy] * slope); });
  backward.to(labels, [&] { return neg(passed[label_occupancy] * slope); });
}

}  // namespace kiln::op

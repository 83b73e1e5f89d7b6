#include "kiln/vision/nms.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/core/error/called_as.hpp"
#include "kiln/ops/check.hpp"
#include "kiln/ops/index/index.hpp"
#include "kiln/ops/loss/boxes.hpp"
#include "kiln/ops/reduce/order.hpp"
#include "kiln/tensor/custom.hpp"
#include "kiln/vision/suppress.hpp"

namespace kiln::vision {
namespace {

/// Calls f(boxes) with the first operand of a call, float32 or float64 [count, 4], in its type.
template <class F>
void with_boxes(const Value& operand, F f) {
  Value held;
  const strided::Array array = cpu::read_contiguous(operand, held);
  const auto count = static_cast<std::size_t>(operand.dim(0));
  const auto as = [&]<class T>(TypeTag<T>) {
    std::vector<BoxOf<T>> boxes(count);
    const T* numbers = array.as<const T>();
    for (std::size_t i = 0; i < count; ++i, numbers += 4) boxes[i] = {numbers[0], numbers[1], numbers[2], numbers[3]};
    f(std::span<const BoxOf<T>>(boxes));
  };
  if (operand.dtype() == DType::F64) as(TypeTag<double>{});
  else as(TypeTag<float>{});
}

/// Takes boxes sorted by their scores, and groups [count] or none. Returns booleans [count].
struct Suppress {
  double overlap = 0.5;

  std::string name() const { return "nms"; }
  Desc infer(Inputs in) const { return {{in[0].dim(0)}, DType::Bool}; }
  Value expand(Inputs in) const { return kept_by_ops(in[0], in[1], overlap); }
  bool run(std::string_view backend, Call call) const {
    if (backend != "cpu") return false;
    Value held;
    const std::int64_t* groups =
        call.in[1].empty() ? nullptr : cpu::read_contiguous(call.in[1], held).as<const std::int64_t>();
    bool* kept = cpu::allocate(call.out[0]).as<bool>();
    with_boxes(call.in[0], [&]<class T>(std::span<const BoxOf<T>> boxes) {
      suppress(boxes, groups, static_cast<T>(overlap), kept);
    });
    return true;
  }
};

/// Returns x in float32 or a wider type.
Value wide(const Value& x) { return cast(x.detach(), working_type(x.dtype())); }

void require_scored(std::string_view name, const Value& boxes, const Value& scores) {
  op::require_float(name, boxes);
  op::require_float(name, scores);
  require<ShapeError>(boxes.rank() == 2 && boxes.dim(1) == 4 && scores.rank() == 1 && scores.dim(0) == boxes.dim(0),
                      name, ": boxes are [count, 4] and scores [count], got ", boxes.shape(), " and ", scores.shape());
}

}  // namespace

Value kept_by_ops(const Value& boxes, const Value& groups, double overlap) {
  constexpr std::int64_t kBlock = 512;
  const std::int64_t count = boxes.dim(0);
  const Device device = boxes.device();
  const auto group = [&](std::int64_t first, std::int64_t size) { return narrow(groups, 0, first, size); };
  // [a, b]: whether the first box suppresses the second, by their overlap.
  const auto suppresses = [&](std::int64_t first, std::int64_t size, std::int64_t from, std::int64_t others) {
    const Value over = gt(box_iou(narrow(boxes, 0, first, size), narrow(boxes, 0, from, others)), overlap);
    if (groups.empty()) return over;
    return logical_and(over, eq(unsqueeze(group(first, size), 1), unsqueeze(group(from, others), 0)));
  };
  Value kept = ones({count}, device, DType::Bool);
  for (std::int64_t first = 0; first < count; first += kBlock) {
    const std::int64_t size = std::min(kBlock, count - first), from = first + size;
    const Value places = arange(0, size, 1, device);
    const Value within =
        logical_and(suppresses(first, size, first, size), lt(unsqueeze(places, 1), unsqueeze(places, 0)));
    // A box of the block is kept unless a kept one suppresses it: the answer is the fixed point of this rule. Each
    // round decides at least one further box.
    const Value before = narrow(kept, 0, first, size);
    Value now = before;
    for (;;) {
      const Value next = logical_and(before, logical_not(any(logical_and(within, unsqueeze(now, 1)), {0})));
      if (any(ne(next, now)).item() == 0) break;
      now = next;
    }
    Values parts = {narrow(kept, 0, 0, first), now};
    if (from < count) {
      const Value hit = any(logical_and(suppresses(first, size, from, count - from), unsqueeze(now, 1)), {0});
      parts.push_back(logical_and(narrow(kept, 0, from, count - from), logical_not(hit)));
    }
    kept = cat(parts, 0);
  }
  return kept;
}

namespace {

/// groups [count] -> booleans [count]: is an element among the first `most` of its group?
Value among_first(const Value& groups, std::int64_t most) {
  const Value by_group = argsort(groups, 0), sorted = select(groups, 0, by_group);
  const Value rank = arange(0, groups.dim(0), 1, groups.device()) - searchsorted(sorted, sorted);
  return gather(lt(rank, most), 0, argsort(by_group, 0));
}

Value chosen(const Value& boxes, const Value& scores, const Value& groups, const NmsOptions& options) {
  constexpr std::string_view name = "nms";
  const CalledAs named("nms");
  require_scored(name, boxes, scores);
  require<ArgumentError>(options.overlap >= 0 && options.overlap <= 1, name, ": overlap = ", options.overlap,
                         " is not from 0 to 1");
  require<ArgumentError>(!std::isnan(options.least_score), name, ": least_score is NaN");
  for (const auto& [what, most] : {std::pair("most", options.most), std::pair("most_of_group", options.most_of_group)})
    require<ArgumentError>(!most || *most >= 0, name, ": ", what, " = ", most.value_or(0), " must not be negative");
  if (groups) {
    op::require_index(name, groups);
    require<ShapeError>(groups.shape() == scores.shape(), name, ": groups ", groups.shape(), " and scores ",
                        scores.shape(), " differ");
  }
  Value order = argsort(scores.detach(), 0, true);
  const Value sorted = select(scores.detach(), 0, order);
  order = mask_select(order, gt(sorted, options.least_score));
  const Value of_order = select(wide(boxes), 0, order);
  const Value kinds = groups ? select(cast(groups, DType::I64), 0, order) : Value();
  const Value kept =
      custom(make_ref<const UserOpFace<Suppress>>(Suppress{options.overlap}), Values{of_order, kinds})[0];
  Value indices = mask_select(order, kept);
  if (options.most_of_group && kinds)
    indices = mask_select(indices, among_first(mask_select(kinds, kept), *options.most_of_group));
  else if (options.most_of_group) indices = narrow(indices, 0, 0, std::min(*options.most_of_group, indices.dim(0)));
  return options.most && *options.most < indices.dim(0) ? narrow(indices, 0, 0, *options.most) : indices;
}

}  // namespace

Value nms(const Value& boxes, const Value& scores, const NmsOptions& options) {
  return chosen(boxes, scores, {}, options);
}
Value nms(const Value& boxes, const Value& scores, const Value& groups, const NmsOptions& options) {
  return chosen(boxes, scores, groups, options);
}

// ---- soft ----------------------------------------------------------------------------------------------------------

Scored soft_kept_by_ops(const Value& boxes, const Value& scores, const SoftNms& options) {
  const Device device = boxes.device();
  const Value none = -std::numeric_limits<double>::infinity();
  Value left = where(gt(scores, options.least_score), scores, none);
  Values indices, fallen;
  for (std::int64_t i = 0; i < std::min(options.most, boxes.dim(0)); ++i) {
    const Value best = argmax(left, 0, true), score = select(left, 0, best);
    const Value any_left = gt(score, none);
    indices.push_back(where(any_left, best, -1));
    fallen.push_back(score);
    const Value found = squeeze(box_iou(select(boxes, 0, best), boxes), 0), over = where(ge(found, 0.0), found, 0.0);
    const Value factor = options.decay == SoftNms::Decay::Gaussian ? exp(square(over) * (-1 / options.sigma))
                                                                   : where(gt(over, options.overlap), 1 - over, 1.0);
    left = where(logical_or(le(left * factor, options.least_score), eq(arange(0, boxes.dim(0), 1, device), best)), none,
                 left * factor);
  }
  return {cat(indices, 0), cat(fallen, 0)};
}

namespace {

struct SuppressSoftly {
  SoftNms options;

  std::string name() const { return "soft_nms"; }
  Descs infer(Inputs in) const {
    const Shape shape{std::min(options.most, in[0].dim(0))};
    return {Desc{shape, DType::I64}, Desc{shape, in[1].dtype()}};
  }
  Values expand(Inputs in) const {
    const Scored result = soft_kept_by_ops(in[0], in[1], options);
    return {result.indices, result.scores};
  }
  bool run(std::string_view backend, Call call) const {
    if (backend != "cpu") return false;
    with_boxes(call.in[0], [&]<class T>(std::span<const BoxOf<T>> boxes) { choose(boxes, call); });
    return true;
  }

 private:
  template <class T>
  void choose(std::span<const BoxOf<T>> boxes, Call call) const {
    Value held;
    const T* scores = cpu::read_contiguous(call.in[1], held).as<const T>();
    const cpu::Array indices = cpu::allocate(call.out[0]), fallen = cpu::allocate(call.out[1]);
    struct Candidate {
      std::size_t index;
      T score;
    };
    std::vector<Candidate> left;
    for (std::size_t i = 0; i < boxes.size(); ++i)
      if (scores[i] > static_cast<T>(options.least_score)) left.push_back({i, scores[i]});
    for (std::int64_t i = 0; i < call.out[0].dim(0); ++i) {
      const auto best = std::ranges::max_element(left, [](const Candidate& a, const Candidate& b) {
        return a.score < b.score || (a.score == b.score && a.index > b.index);
      });
      indices.as<std::int64_t>()[i] = best == left.end() ? -1 : static_cast<std::int64_t>(best->index);
      fallen.as<T>()[i] = best == left.end() ? -std::numeric_limits<T>::infinity() : best->score;
      if (best == left.end()) continue;
      const BoxOf<T> box = boxes[best->index];
      *best = left.back();
      left.pop_back();
      for (Candidate& each : left) each.score *= factor(box.overlap(boxes[each.index]));
      std::erase_if(left, [&](const Candidate& each) { return !(each.score > static_cast<T>(options.least_score)); });
    }
  }
  template <class T>
  T factor(T over) const {
    if (options.decay == SoftNms::Decay::Gaussian) return std::exp(over * over * static_cast<T>(-1 / options.sigma));
    return over > static_cast<T>(options.overlap) ? 1 - over : T(1);
  }
};

}  // namespace

Scored soft_nms(const Value& boxes, const Value& scores, const SoftNms& options) {
  constexpr std::string_view name = "soft_nms";
  const CalledAs named("soft_nms");
  require_scored(name, boxes, scores);
  require_enumerator(name, "decay", static_cast<int>(options.decay), static_cast<int>(SoftNms::Decay::Gaussian));
  require<ArgumentError>(options.overlap >= 0 && options.overlap <= 1, name, ": overlap = ", options.overlap,
                         " is not from 0 to 1");
  require<ArgumentError>(options.sigma > 0 && std::isfinite(options.sigma), name, ": sigma = ", options.sigma,
                         " must be positive");
  require<ArgumentError>(options.least_score >= 0, name, ": least_score = ", options.least_score,
                         " must not be negative, as scores fall towards 0");
  require<ArgumentError>(options.most >= 1, name, ": most = ", options.most, " must be positive");
  const DType dtype = working_type(promote(boxes.dtype(), scores.dtype()));
  const Value of = cast(boxes.detach(), dtype), rated = cast(scores.detach(), dtype);
  if (boxes.dim(0) == 0) return {zeros({0}, boxes.device(), DType::I64), scores.detach()};
  const Values result = custom_all(SuppressSoftly{options}, of, rated);
  const Value real = ge(result[0], 0);
  return {mask_select(result[0], real), cast(mask_select(result[1], real), scores.dtype())};
}

}  // namespace kiln::vision

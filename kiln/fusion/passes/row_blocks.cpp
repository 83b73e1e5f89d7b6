#include <algorithm>
#include <memory>

#include "kiln/fusion/passes/passes.hpp"
#include "kiln/fusion/passes/sequence.hpp"

namespace kiln::fusion {
namespace {

class RowBlocker {
 public:
  RowBlocker(Plan& plan, const Segment& segment, const FusionTraits::Blocks& traits)
      : plan_(plan), segment_(segment), traits_(traits), readers_(readers_of(plan, segment)) {}

  void run() {
    std::vector<PlanStep> grouped;
    for (std::size_t first = 0; first < plan_.steps.size();) {
      const std::size_t end = end_of_group(first);
      if (end > first + 1) grouped.push_back(blocked(first, end));
      else grouped.push_back(std::move(plan_.steps[first]));
      first = end;
    }
    plan_.steps = std::move(grouped);
  }

 private:
  const Desc& desc(std::uint32_t value) const { return segment_.values()[value]->desc; }

  /// Returns the shape of the first large tensor that a step reads; null if it reads none.
  const Shape* large_operand(const PlanStep& step) const {
    for (const Reference operand : step.in)
      if (operand.is_value() && numel(desc(operand.index()).shape) >= traits_.min_elements)
        return &desc(operand.index()).shape;
    return nullptr;
  }

  bool fits(const PlanStep& step) const {
    if (!op::visit(step.op, [&](const auto& op) { return is_row_wise(op, axis_); })) return false;
    for (const std::uint32_t result : step.out) {
      const Shape& shape = desc(result).shape;
      if (shape.size() != rank_ || shape[axis_] != rows_ || numel(Shape(shape.begin(), shape.begin() + axis_)) != 1)
        return false;
    }
    return std::ranges::all_of(step.in, [&](Reference operand) {
      if (!operand.is_value()) return true;
      const Shape& shape = desc(operand.index()).shape;
      const int dim = axis_ - (rank_ - shape.size());
      return shape.size() <= rank_ && (dim < 0 || shape[dim] == rows_ || shape[dim] == 1);
    });
  }

  /// Returns the end of the group from `first` on: up to the last step that finds a block of a large tensor cached.
  std::size_t end_of_group(std::size_t first) {
    const Shape* const large = large_operand(plan_.steps[first]);
    if (!large) return first + 1;
    rank_ = large->size();
    axis_ = 0;
    while (axis_ < rank_ && (*large)[axis_] == 1) ++axis_;
    rows_ = (*large)[axis_];
    const std::int64_t length = numel(*large) / rows_;
    if (axis_ + 1 >= rank_ || length > traits_.max_row) return first + 1;
    block_ = std::max<std::int64_t>(1, traits_.block / length);
    if (rows_ < traits_.min_blocks * block_) return first + 1;

    std::vector<std::uint32_t> cached;  // large tensors of which the cache holds a block
    std::size_t end = first, gained = first;
    for (; end < plan_.steps.size() && fits(plan_.steps[end]); ++end) {
      const auto touch = [&](std::uint32_t value) {
        if (numel(desc(value).shape) < traits_.min_elements) return;
        if (std::ranges::find(cached, value) == cached.end()) cached.push_back(value);
        else gained = end;
      };
      for (const Reference operand : plan_.steps[end].in)
        if (operand.is_value()) touch(operand.index());
      for (const std::uint32_t result : plan_.steps[end].out) touch(result);
    }
    return gained + 1;
  }

  PlanStep blocked(std::size_t first, std::size_t end) {
    const auto blocks = std::make_shared<op::RowBlocks>();
    blocks->axis = axis_;
    blocks->rows = rows_;
    blocks->block = block_;
    SequenceBuilder group(segment_, blocks->sequence);
    for (std::size_t i = first; i < end; ++i)
      group.add(plan_.steps[i],
                [&](std::uint32_t result) { return !readers_[result].empty() && readers_[result].back() >= end; });
    blocks->derive_steps();
    return std::move(group).finish(op::RowBlocked{blocks});
  }

  Plan& plan_;
  const Segment& segment_;
  const FusionTraits::Blocks& traits_;
  const std::vector<std::vector<std::size_t>> readers_;  // the steps that read each value
  int axis_ = 0, rank_ = 0;
  std::int64_t rows_ = 0, block_ = 0;
};

}  // namespace

void block_rows(Plan& plan, const Segment& segment, const FusionTraits& traits) {
  if (!traits.blocks) return;
  const bool any_large = std::ranges::any_of(segment.values(), [&](const Ref<Node>& value) {
    return value && numel(value->desc.shape) >= traits.blocks->min_elements;
  });
  if (any_large) RowBlocker(plan, segment, *traits.blocks).run();
}

}  // namespace kiln::fusion

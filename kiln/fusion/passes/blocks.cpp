#include "kiln/fusion/passes/blocks.hpp"

#include <algorithm>
#include <memory>

#include "kiln/fusion/passes/sequence.hpp"

namespace kiln::fusion {
namespace {

class Grouper {
 public:
  Grouper(Plan& plan, const Segment& segment, const FusionTraits::Blocks& traits)
      : plan_(plan), segment_(segment), traits_(traits), last_reader_(segment.values().size()) {
    for (std::size_t i = 0; i < plan.steps.size(); ++i)
      for (const Reference operand : plan.steps[i].in)
        if (operand.is_value()) last_reader_[operand.index()] = i;
  }

  void run() {
    std::vector<Plan::Step> grouped;
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

  /// What it reads that is as large as can be.
  const Shape* large_operand(const Plan::Step& step) const {
    for (const Reference operand : step.in)
      if (operand.is_value() && numel(desc(operand.index()).shape) >= traits_.least)
        return &desc(operand.index()).shape;
    return nullptr;
  }

  bool fits(const Plan::Step& step) const {
    if (!op::visit(step.op, [&](const auto& op) { return goes_by_rows(op, axis_); })) return false;
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

  /// Steps from `first` on that go well together.
  std::size_t end_of_group(std::size_t first) {
    const Shape* const large = large_operand(plan_.steps[first]);
    if (!large) return first + 1;
    rank_ = large->size();
    axis_ = 0;
    while (axis_ < rank_ && (*large)[axis_] == 1) ++axis_;
    rows_ = (*large)[axis_];
    const std::int64_t length = numel(*large) / rows_;
    if (axis_ + 1 >= rank_ || length > traits_.longest_row) return first + 1;
    block_ = std::max<std::int64_t>(1, traits_.block / length);
    if (rows_ < 4 * block_) return first + 1;

    std::vector<std::uint32_t> met;  // large tensors that are in the cache
    std::size_t end = first, gained = first;
    for (; end < plan_.steps.size() && fits(plan_.steps[end]); ++end) {
      const auto meet = [&](std::uint32_t value) {
        if (numel(desc(value).shape) < traits_.least) return;
        if (std::ranges::find(met, value) == met.end()) met.push_back(value);
        else gained = end;
      };
      for (const Reference operand : plan_.steps[end].in)
        if (operand.is_value()) meet(operand.index());
      for (const std::uint32_t result : plan_.steps[end].out) meet(result);
    }
    return gained + 1;
  }

  Plan::Step blocked(std::size_t first, std::size_t end) {
    auto frame = std::make_shared<op::Sequence>();
    frame->axis = axis_;
    frame->rows = rows_;
    frame->block = block_;
    SequenceBuilder group(segment_, std::move(frame));
    for (std::size_t i = first; i < end; ++i) {
      const Plan::Step& step = plan_.steps[i];
      group.add(step,
                {step.op,
                 op::resized(step.op, axis_, block_),
                 op::resized(step.op, axis_, rows_ % block_),
                 {},
                 static_cast<std::uint16_t>(step.out.size())},
                [&](std::uint32_t result) { return last_reader_[result] >= end; });
    }
    return std::move(group).finish();
  }

  Plan& plan_;
  const Segment& segment_;
  const FusionTraits::Blocks& traits_;
  std::vector<std::size_t> last_reader_;  // of each value, the step
  int axis_ = 0, rank_ = 0;
  std::int64_t rows_ = 0, block_ = 0;
};

}  // namespace

void group_into_blocks(Plan& plan, const Segment& segment, const FusionTraits::Blocks& traits) {
  const bool any_large = std::ranges::any_of(
      segment.values(), [&](const Ref<Node>& value) { return value && numel(value->desc.shape) >= traits.least; });
  if (any_large) Grouper(plan, segment, traits).run();
}

}  // namespace kiln::fusion

#include "kiln/fusion/passes/horizontal.hpp"

#include <algorithm>

#include "kiln/ops/planned/sequence.hpp"

namespace kiln::fusion {
namespace {

/// What may fail stays alone, so that its error has a place and takes nothing else along.
bool goes_with_others(const op::Op& op) {
  return op::visit(op, []<class T>(const T&) {
    return std::is_same_v<T, op::Fused> || (T::kFacts.pattern == Pattern::Elementwise && !kChecksData<T>);
  });
}

class Joiner {
 public:
  Joiner(Plan& plan, const Segment& segment, const FusionTraits::Horizontal& traits)
      : plan_(plan), segment_(segment), traits_(traits), made_by_(segment.values().size()) {}

  void run() {
    std::vector<Plan::Step> joined;
    for (std::size_t first = 0; first < plan_.steps.size();) {
      const std::size_t end = end_of_run(first);
      if (end > first + 1) joined.push_back(together(first, end));
      else joined.push_back(std::move(plan_.steps[first]));
      first = end;
    }
    plan_.steps = std::move(joined);
  }

 private:
  std::int64_t elements(const Plan::Step& step) const {
    std::int64_t count = 0;
    for (const std::uint32_t result : step.out) count += numel(segment_.values()[result]->desc.shape);
    return count;
  }

  /// Steps from `first` on that are small and do not read each other's results.
  std::size_t end_of_run(std::size_t first) {
    const std::size_t run = first + 1;  // how made_by_ names it
    std::int64_t all = 0;
    std::size_t end = first;
    for (; end < plan_.steps.size(); ++end) {
      const Plan::Step& step = plan_.steps[end];
      const std::int64_t count = elements(step);
      if (!goes_with_others(step.op) || count > traits_.most_each || all + count > traits_.most_in_all) break;
      if (std::ranges::any_of(
              step.in, [&](Reference operand) { return operand.is_value() && made_by_[operand.index()] == run; }))
        break;
      for (const std::uint32_t result : step.out) made_by_[result] = run;
      all += count;
    }
    return std::max(end, first + 1);
  }

  Plan::Step together(std::size_t first, std::size_t end) {
    auto parts = std::make_shared<op::Parts>();
    Plan::Step whole{op::Horizontal{parts}, plan_.steps[end - 1].entry, {}, {}, {}};
    const auto append = [](auto& list, const auto& more) {
      const op::Parts::Share share{static_cast<std::uint32_t>(list.size()), static_cast<std::uint32_t>(more.size())};
      list.insert(list.end(), more.begin(), more.end());
      return share;
    };
    for (std::size_t i = first; i < end; ++i) {
      Plan::Step& step = plan_.steps[i];
      const op::Parts::Share operands = append(whole.in, step.in), results = append(whole.out, step.out);
      parts->all.push_back({std::move(step.op), operands, results});
    }
    return whole;
  }

  Plan& plan_;
  const Segment& segment_;
  const FusionTraits::Horizontal& traits_;
  std::vector<std::size_t> made_by_;  // the run whose step makes a value
};

}  // namespace

void fuse_horizontally(Plan& plan, const Segment& segment, const FusionTraits::Horizontal& traits) {
  Joiner(plan, segment, traits).run();
}

}  // namespace kiln::fusion

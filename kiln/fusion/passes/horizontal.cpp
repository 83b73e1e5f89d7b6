#include "kiln/fusion/passes/horizontal.hpp"

#include <algorithm>
#include <optional>

#include "kiln/ops/planned/sequence.hpp"

namespace kiln::fusion {
namespace {

/// What may fail stays alone, so that its error has a place and takes nothing else along.
bool goes_with_others(const op::Op& op) {
  return op::visit(op, []<class T>(const T&) {
    return std::is_same_v<T, op::Fused> ||
           (T::kFacts.pattern == Pattern::Elementwise && T::kFacts.may_fail == MayFail::Never);
  });
}

bool alike(const op::Program& a, const op::Program& b) {
  if (!a.folds.empty() || !b.folds.empty()) return false;
  const auto op_of = [](const op::Program::Step& step) {
    return std::visit([](const auto& op) { return op::Op(op); }, step.op);
  };
  const auto same_operand = [](const op::Program::Operand& x, const op::Program::Operand& y) {
    return x.from == y.from && x.index == y.index;
  };
  const auto same_step = [&](const op::Program::Step& x, const op::Program::Step& y) {
    return x.dtype == y.dtype && op_of(x) == op_of(y) && std::ranges::equal(x.in, y.in, same_operand);
  };
  return std::ranges::equal(a.inputs, b.inputs) && std::ranges::equal(a.outputs, b.outputs) &&
         std::ranges::equal(a.steps, b.steps, same_step);
}

class Joiner {
 public:
  Joiner(Plan& plan, const Segment& segment, const FusionTraits::Horizontal& traits)
      : plan_(plan), segment_(segment), traits_(traits), made_by_(segment.values().size()) {}

  void run() {
    std::vector<Plan::Step> joined;
    for (std::size_t first = 0; first < plan_.steps.size();) {
      const std::size_t end = end_of_run(first);
      std::vector<std::vector<std::size_t>> groups;
      for (std::size_t i = first; i < end; ++i) {
        const auto group =
            std::ranges::find_if(groups, [&](const auto& each) { return !traits_.alike || alike(each.front(), i); });
        if (group != groups.end()) group->push_back(i);
        else groups.push_back({i});
      }
      for (const std::vector<std::size_t>& group : groups)
        joined.push_back(group.size() > 1 ? together(group) : std::move(plan_.steps[group[0]]));
      first = end;
    }
    plan_.steps = std::move(joined);
  }

 private:
  /// Do two steps compute the same of different tensors?
  bool alike(std::size_t one, std::size_t other) const {
    const Plan::Step &a = plan_.steps[one], &b = plan_.steps[other];
    const auto *first = std::get_if<op::Fused>(&a.op.is), *second = std::get_if<op::Fused>(&b.op.is);
    if (first && second) return fusion::alike(*first->program, *second->program);
    const auto dtype = [&](Reference of) {
      return of.is_value() ? std::optional(segment_.values()[of.index()]->desc.dtype) : std::nullopt;
    };
    return a.op == b.op && std::ranges::equal(a.in, b.in, {}, dtype, dtype);
  }

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

  Plan::Step together(const std::vector<std::size_t>& steps) {
    auto parts = std::make_shared<op::Parts>();
    Plan::Step whole{op::Horizontal{parts}, plan_.steps[steps.back()].entry, {}, {}, {}};
    const auto append = [](auto& list, const auto& more) {
      const op::Parts::Share share{static_cast<std::uint32_t>(list.size()), static_cast<std::uint32_t>(more.size())};
      list.insert(list.end(), more.begin(), more.end());
      return share;
    };
    for (const std::size_t i : steps) {
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

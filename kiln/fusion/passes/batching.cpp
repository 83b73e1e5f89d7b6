#include <algorithm>
#include <optional>

#include "kiln/fusion/passes/passes.hpp"
#include "kiln/ops/planned/sequence.hpp"

namespace kiln::fusion {
namespace {

/// Whether an operation may be joined. One that may fail stays alone, so that its error names it and affects no other.
bool can_be_batched(const op::Op& op) {
  return op::visit(op, []<class T>(const T&) {
    return std::is_same_v<T, op::Fused> ||
           (T::kTraits.pattern == Pattern::Elementwise && T::kTraits.may_fail == MayFail::Never);
  });
}

/// Whether an operation is a reduction or view that cannot fail. Such ops stand between small steps and their readers.
bool folds_or_views(const op::Op& op) {
  return op::visit(op, []<class T>(const T&) {
    return (T::kTraits.pattern == Pattern::Reduction || T::kTraits.pattern == Pattern::View) &&
           T::kTraits.may_fail == MayFail::Never;
  });
}

bool same_function(const op::Program& a, const op::Program& b) {
  if (!a.folds.empty() || !b.folds.empty()) return false;
  const auto op_of = [](const op::ProgramStep& step) {
    return std::visit([](const auto& op) { return op::Op(op); }, step.op);
  };
  const auto same_operand = [](const op::ProgramOperand& x, const op::ProgramOperand& y) {
    return x.from == y.from && x.index == y.index;
  };
  const auto same_step = [&](const op::ProgramStep& x, const op::ProgramStep& y) {
    return x.dtype == y.dtype && op_of(x) == op_of(y) && std::ranges::equal(x.in, y.in, same_operand);
  };
  return std::ranges::equal(a.inputs, b.inputs) && std::ranges::equal(a.outputs, b.outputs) &&
         std::ranges::equal(a.steps, b.steps, same_step);
}

class Batcher {
 public:
  Batcher(Plan& plan, const Segment& segment, const FusionTraits::Batching& traits)
      : plan_(plan), segment_(segment), traits_(traits), run_of_(segment.values().size()), joined_(plan.steps.size()) {}

  void run() {
    std::vector<PlanStep> joined;
    for (std::size_t first = 0; first < plan_.steps.size(); ++first) {
      if (joined_[first]) continue;
      std::vector<std::vector<std::size_t>> groups;
      const Run run = run_from(first);
      for (const std::size_t i : run.before) joined.push_back(std::move(plan_.steps[i]));
      for (const std::size_t i : run.members) {
        const auto group = std::ranges::find_if(
            groups, [&](const auto& each) { return !traits_.same_function_only || same_function(each.front(), i); });
        if (group != groups.end()) group->push_back(i);
        else groups.push_back({i});
      }
      for (const std::vector<std::size_t>& group : groups)
        joined.push_back(group.size() > 1 ? batched(group) : std::move(plan_.steps[group[0]]));
    }
    plan_.steps = std::move(joined);
  }

 private:
  /// Whether two steps compute the same function of different tensors.
  bool same_function(std::size_t one, std::size_t other) const {
    const PlanStep &a = plan_.steps[one], &b = plan_.steps[other];
    const auto *first = std::get_if<op::Fused>(&a.op.is), *second = std::get_if<op::Fused>(&b.op.is);
    if (first && second) return fusion::same_function(*first->program, *second->program);
    const auto dtype = [&](Reference of) {
      return of.is_value() ? std::optional(segment_.values()[of.index()]->desc.dtype) : std::nullopt;
    };
    return a.op == b.op && std::ranges::equal(a.in, b.in, {}, dtype, dtype);
  }

  /// Returns how many elements a step writes, or its largest operand has if that is more: a step may be a reduction.
  std::int64_t elements(const PlanStep& step) const {
    const auto count = [&](std::uint32_t value) { return numel(segment_.values()[value]->desc.shape); };
    std::int64_t written = 0, read = 0;
    for (const std::uint32_t result : step.out) written += count(result);
    for (const Reference operand : step.in)
      if (operand.is_value()) read = std::max(read, count(operand.index()));
    return std::max(written, read);
  }

  struct Run {
    std::vector<std::size_t> before;   // reductions and views that run before the members
    std::vector<std::size_t> members;  // independent of each other
  };

  /// Collects small steps from `first` on, up to a large one. Steps that wait for a member are left for later runs.
  /// Thus the first pass over each parameter joins those over all the others, and then the second pass does.
  Run run_from(std::size_t first) {
    Run found{{}, {first}};
    joined_[first] = true;
    std::int64_t all = elements(plan_.steps[first]);
    if (!can_be_batched(plan_.steps[first].op) || all > traits_.max_each) return found;
    const std::size_t run = first + 1;  // the number of this run in run_of_
    for (const std::uint32_t result : plan_.steps[first].out) run_of_[result] = run;
    for (std::size_t i = first + 1; i < std::min(plan_.steps.size(), first + traits_.max_distance); ++i) {
      if (joined_[i]) continue;
      const PlanStep& step = plan_.steps[i];
      const std::int64_t count = elements(step);
      if (count > traits_.max_each || all + count > traits_.max_total) break;
      const bool waits = std::ranges::any_of(
          step.in, [&](Reference operand) { return operand.is_value() && run_of_[operand.index()] == run; });
      if (!waits && folds_or_views(step.op)) {
        found.before.push_back(i);
        joined_[i] = true;
        continue;
      }
      for (const std::uint32_t result : step.out) run_of_[result] = run;
      if (waits || !can_be_batched(step.op)) continue;
      found.members.push_back(i);
      joined_[i] = true;
      all += count;
    }
    return found;
  }

  PlanStep batched(const std::vector<std::size_t>& steps) {
    auto parts = std::make_shared<op::BatchedOps>();
    PlanStep whole{op::Batched{parts}, plan_.steps[steps.back()].last_entry, {}, {}, {}};
    const auto append = [](auto& list, const auto& more) {
      const op::BatchedOp::Span span{static_cast<std::uint32_t>(list.size()), static_cast<std::uint32_t>(more.size())};
      list.insert(list.end(), more.begin(), more.end());
      return span;
    };
    for (const std::size_t i : steps) {
      PlanStep& step = plan_.steps[i];
      const op::BatchedOp::Span operands = append(whole.in, step.in), results = append(whole.out, step.out);
      parts->all.push_back({std::move(step.op), operands, results});
    }
    return whole;
  }

  Plan& plan_;
  const Segment& segment_;
  const FusionTraits::Batching& traits_;
  std::vector<std::size_t> run_of_;  // the run that computes a value, or that has skipped its step
  std::vector<bool> joined_;         // steps that are in a run
};

}  // namespace

void batch_small_steps(Plan& plan, const Segment& segment, const FusionTraits& traits) {
  if (traits.batching) Batcher(plan, segment, *traits.batching).run();
}

}  // namespace kiln::fusion

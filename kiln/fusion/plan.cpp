// The planner. It goes through the segment once. Elementwise operations are collected in open groups, which wait;
// reductions of a group's results may end the group, and views of their results may follow it. Any other operation that
// needs a group's values closes the group first: no group waits for another, and all else keeps its order.
#include "kiln/fusion/plan.hpp"

#include <algorithm>
#include <optional>

#include "kiln/fusion/passes/passes.hpp"
#include "kiln/fusion/simplification.hpp"

namespace kiln::fusion {
namespace {

std::optional<op::Elementwise> elementwise(const op::Op& op) {
  return op::visit(op, []<class T>(const T& o) -> std::optional<op::Elementwise> {
    if constexpr (op::is_elementwise<T>) return op::Elementwise(o);
    else return std::nullopt;
  });
}

/// How a group computes a reduction of one of its results: not at all, together with others over the same last
/// dimensions, or as its only one.
enum class Reduces : std::uint8_t { Not, Grouped, Single };
Reduces reduction_mode(const op::Reduce& op, const Desc& operand, const FusionTraits::Groups& traits) {
  const auto has = [](const auto& list, auto each) { return std::ranges::find(list, each) != list.end(); };
  if (op.dims.empty() || !has(traits.reductions, op.fn)) return Reduces::Not;
  std::int64_t reduced = 1;
  for (const std::int64_t dim : op.dims) reduced *= operand.shape[static_cast<int>(dim)];
  if (reduced < traits.min_reduced) return Reduces::Not;
  const bool last = op.dims[0] == operand.shape.size() - op.dims.size();
  if (last && has(traits.reduced_types, operand.dtype)) return Reduces::Grouped;
  return has(traits.reduced_single, operand.dtype) ? Reduces::Single : Reduces::Not;
}

class Planner {
 public:
  Planner(const Segment& segment, const FusionTraits& traits)
      : segment_(segment),
        traits_(traits),
        simplified_(segment, traits),
        needed_(segment.values().size()),
        group_of_(segment.values().size(), kNone),
        folded_(segment.values().size()),
        step_of_(segment.values().size()),
        readers_(segment.values().size()) {}

  Plan make() {
    find_needed();
    list_readers();
    for (std::uint32_t i = 0; i < simplified_.size(); ++i) {
      const RecordedCall& entry = simplified_.entries()[i];
      if (!is_needed(entry)) continue;
      if (elementwise(entry.op)) {
        join(i);
        if (!traits_.groups) close_all();
      } else if (!fold(i) && !defer_view(i)) {
        for (const Reference operand : simplified_.operands(entry)) close_group_of(operand);
        // A user's kernel may read any tensor that the user could read when calling it.
        if (std::holds_alternative<op::Custom>(entry.op.is)) close_all();
        emit(i);
      }
    }
    close_all();
    for (Pass* const pass : kPasses) pass(plan_, segment_, traits_);
    note_releases();
    plan_.constant_folds = simplified_.constant_folds();
    return std::move(plan_);
  }

 private:
  static constexpr std::size_t kNone = ~std::size_t{0};

  struct Group {
    Shape shape;
    SpareVector<std::uint32_t> entries{};
    SpareVector<std::uint32_t> inputs{};  // tensors, each once
    SpareVector<std::uint32_t> folds{};   // reductions of its results
    Dims dims{};                          // the reduced dimensions, equal in all folds
    SpareVector<std::uint32_t> views{};   // views of the results of folds, which run after the group
    bool alone = false;                   // takes no other reduction
    bool open = true;

    void reads(std::uint32_t value) {
      if (std::ranges::find(inputs, value) == inputs.end()) inputs.push_back(value);
    }
  };

  // Operations that may fail run even if their results are not read: an error is never lost.
  bool is_needed(const RecordedCall& entry) const {
    return may_fail(entry.op) ||
           std::ranges::any_of(simplified_.results(entry), [&](Reference result) { return needed_[result.index()]; });
  }

  // A value is needed if a handle outside refers to it or a needed operation reads it.
  void find_needed() {
    for (std::size_t i = 0; i < needed_.size(); ++i) needed_[i] = segment_.visible(static_cast<std::uint32_t>(i));
    for (std::size_t i = simplified_.size(); i-- > 0;) {
      const RecordedCall& entry = simplified_.entries()[i];
      if (!is_needed(entry)) continue;
      for (const Reference operand : simplified_.operands(entry))
        if (operand.is_value()) needed_[operand.index()] = true;
    }
  }

  const Desc& desc(std::uint32_t value) const { return segment_.values()[value]->desc; }

  /// Returns the open group that computes a value, or kNone.
  std::size_t open_group(Reference reference) const {
    if (!reference.is_value()) return kNone;
    const std::size_t group = group_of_[reference.index()];
    return group != kNone && groups_[group].open ? group : kNone;
  }
  void close_group_of(Reference reference) {
    if (const std::size_t group = open_group(reference); group != kNone) close(group);
  }

  void join(std::uint32_t entry_index) {
    const RecordedCall& entry = simplified_.entries()[entry_index];
    const std::uint32_t result = simplified_.results(entry)[0].index();
    const Shape& shape = desc(result).shape;
    for (const Reference operand : simplified_.operands(entry))
      if (operand.is_value() && folded_[operand.index()]) close_group_of(operand);
    std::size_t joined = kNone;
    for (const Reference operand : simplified_.operands(entry)) {
      const std::size_t group = open_group(operand);
      if (group == kNone || group == joined) continue;
      if (groups_[group].shape != shape || !can_add(group)) close(group);
      else if (joined == kNone) joined = group;
      else if (can_add(group, joined)) merge(group, joined);
      else close(group);
    }
    if (joined == kNone) {
      joined = groups_.size();
      groups_.push_back({.shape = shape});
    }
    Group& group = groups_[joined];
    group.entries.push_back(entry_index);
    for (const Reference operand : simplified_.operands(entry))
      if (operand.is_value() && group_of_[operand.index()] != joined) group.reads(operand.index());
    group_of_[result] = joined;
  }

  /// Adds a reduction to the open group that computes its operand, if the group can compute it.
  bool fold(std::uint32_t entry_index) {
    const RecordedCall& entry = simplified_.entries()[entry_index];
    const auto* reduce = std::get_if<op::Reduce>(&entry.op.is);
    if (!reduce) return false;
    const Reference operand = simplified_.operands(entry)[0];
    const std::size_t index = open_group(operand);
    if (index == kNone || folded_[operand.index()]) return false;
    const Reduces mode = reduction_mode(*reduce, desc(operand.index()), *traits_.groups);
    if (mode == Reduces::Not) return false;
    // An operand that others read is stored anyway; then joining gains little.
    const bool alone = mode == Reduces::Single;
    if (alone && (segment_.visible(operand.index()) || readers_[operand.index()].size() > 1)) return false;
    Group& group = groups_[index];
    if (!group.folds.empty() && (alone || group.alone || group.dims != reduce->dims)) return false;
    group.dims = reduce->dims;
    group.alone = alone;
    group.folds.push_back(entry_index);
    const std::uint32_t result = simplified_.results(entry)[0].index();
    group_of_[result] = index;
    folded_[result] = true;
    return true;
  }

  /// Lets a view of a fold's result wait until its open group has run: so a loss that the user reads later does not
  /// keep its gradients out of the group.
  bool defer_view(std::uint32_t entry_index) {
    const RecordedCall& entry = simplified_.entries()[entry_index];
    if (!std::holds_alternative<op::Reshape>(entry.op.is)) return false;
    const Reference operand = simplified_.operands(entry)[0];
    const std::size_t index = open_group(operand);
    if (index == kNone || !folded_[operand.index()]) return false;
    groups_[index].views.push_back(entry_index);
    const std::uint32_t result = simplified_.results(entry)[0].index();
    group_of_[result] = index;
    folded_[result] = true;
    return true;
  }

  /// Whether a group has room for one more operation, or for all operations of another group.
  bool can_add(std::size_t group) const {
    return groups_[group].entries.size() < traits_.groups->max_steps &&
           groups_[group].inputs.size() + 2 < traits_.groups->max_inputs;
  }
  bool can_add(std::size_t one, std::size_t other) const {
    const Group &a = groups_[one], &b = groups_[other];
    if (!a.folds.empty() && !b.folds.empty() && (a.alone || b.alone || a.dims != b.dims)) return false;
    return a.entries.size() + b.entries.size() < traits_.groups->max_steps &&
           a.inputs.size() + b.inputs.size() + 2 < traits_.groups->max_inputs;
  }

  void merge(std::size_t from, std::size_t into) {
    Group& target = groups_[into];
    SpareVector<std::uint32_t> both;
    std::ranges::merge(groups_[from].entries, target.entries, std::back_inserter(both));
    target.entries = std::move(both);
    for (const std::uint32_t entry : groups_[from].entries)
      group_of_[simplified_.results(simplified_.entries()[entry])[0].index()] = into;
    for (const std::uint32_t input : groups_[from].inputs) target.reads(input);
    for (const std::uint32_t fold : groups_[from].folds) {
      target.folds.push_back(fold);
      target.dims = groups_[from].dims;
      target.alone = groups_[from].alone;
      group_of_[simplified_.results(simplified_.entries()[fold])[0].index()] = into;
    }
    for (const std::uint32_t view : groups_[from].views) {
      target.views.push_back(view);
      group_of_[simplified_.results(simplified_.entries()[view])[0].index()] = into;
    }
    groups_[from] = {.shape = {}, .open = false};
  }

  void close(std::size_t index) {
    Group& group = groups_[index];
    if (!group.open) return;
    group.open = false;
    emit_group(index);
  }

  void close_all() {
    for (std::size_t group = 0; group < groups_.size(); ++group) close(group);
  }

  void emit(std::uint32_t entry_index) {
    const RecordedCall& entry = simplified_.entries()[entry_index];
    PlanStep step{entry.op, entry_index, {}, {}, {}};
    for (const Reference operand : simplified_.operands(entry)) step.in.push_back(operand);
    for (const Reference result : simplified_.results(entry)) step.out.push_back(result.index());
    plan_.steps.push_back(std::move(step));
  }

  void emit_group(std::size_t index) {
    const Group& group = groups_[index];
    auto program = std::make_shared<op::Program>();
    program->shape = group.shape;
    PlanStep step{op::Fused{program}, group.entries.back(), {}, {}, {}};
    SpareVector<std::uint32_t> made;  // the value of each program step
    made.reserve(group.entries.size());
    for (const std::uint32_t entry_index : group.entries) {
      const RecordedCall& entry = simplified_.entries()[entry_index];
      const std::uint32_t result = simplified_.results(entry)[0].index();
      op::ProgramStep made_step{*elementwise(entry.op), {}, desc(result).dtype};
      const auto operands = simplified_.operands(entry);
      for (std::size_t i = 0; i < operands.size(); ++i)
        made_step.in[i] = operand_of(*program, step, index, operands[i], type_of(entry, i));
      step_of_[result] = static_cast<std::uint16_t>(made.size());
      made.push_back(result);
      program->steps.push_back(made_step);
    }
    for (std::size_t i = 0; i < made.size(); ++i) {
      if (!seen_beyond(made[i], index)) continue;
      program->outputs.push_back(static_cast<std::uint16_t>(i));
      step.out.push_back(made[i]);
    }
    for (const std::uint32_t entry_index : group.folds) {
      const RecordedCall& entry = simplified_.entries()[entry_index];
      program->folds.push_back(
          {step_of_[simplified_.operands(entry)[0].index()], std::get<op::Reduce>(entry.op.is).fn, group.dims});
      step.out.push_back(simplified_.results(entry)[0].index());
    }
    plan_.steps.push_back(std::move(step));
    for (const std::uint32_t view : group.views) emit(view);
  }

  op::ProgramOperand operand_of(op::Program& program, PlanStep& step, std::size_t group, Reference reference,
                                DType dtype) const {
    using Operand = op::ProgramOperand;
    if (reference.is_value()) {
      if (group_of_[reference.index()] == group) return {Operand::Result, step_of_[reference.index()]};
      if (const auto known = std::ranges::find(step.in, reference); known != step.in.end())
        return {Operand::Input, static_cast<std::uint16_t>(known - step.in.begin())};
    }
    step.in.push_back(reference);
    program.inputs.push_back(dtype);
    return {Operand::Input, static_cast<std::uint16_t>(step.in.size() - 1)};
  }

  /// Returns the type as which an elementwise operation reads operand i: a tensor's own, for a number its neighbour's.
  DType type_of(const RecordedCall& entry, std::size_t i) const {
    const auto operands = simplified_.operands(entry);
    if (operands[i].is_value()) return desc(operands[i].index()).dtype;
    if (entry.op.is.index() == op::Op(op::Where{}).is.index())
      return i == 0 ? DType::Bool : desc(simplified_.results(entry)[0].index()).dtype;
    return desc(operands[1 - i].index()).dtype;  // a binary operation has at least one tensor
  }

  /// Whether anything but the group's own steps reads a value.
  bool seen_beyond(std::uint32_t value, std::size_t group) const {
    return segment_.visible(value) || std::ranges::any_of(readers_[value], [&](std::uint32_t entry) {
             return group_of_[simplified_.results(simplified_.entries()[entry])[0].index()] != group;
           });
  }
  void list_readers() {
    for (std::uint32_t i = 0; i < simplified_.size(); ++i) {
      const RecordedCall& entry = simplified_.entries()[i];
      if (!is_needed(entry)) continue;
      for (const Reference operand : simplified_.operands(entry))
        if (operand.is_value()) readers_[operand.index()].push_back(i);
    }
  }

  void note_releases() {
    std::vector<bool> seen(segment_.values().size());
    for (auto step = plan_.steps.rbegin(); step != plan_.steps.rend(); ++step) {
      const auto touch = [&](std::uint32_t value) {
        if (!seen[value] && !segment_.visible(value)) step->release.push_back(value);
        seen[value] = true;
      };
      for (const Reference operand : step->in)
        if (operand.is_value()) touch(operand.index());
      for (const std::uint32_t result : step->out) touch(result);
    }
  }

  const Segment& segment_;
  const FusionTraits& traits_;
  const Simplification simplified_;
  std::vector<bool> needed_;
  std::vector<std::size_t> group_of_;
  std::vector<bool> folded_;  // results of a group's folds and of their views
  std::vector<Group> groups_;
  std::vector<std::uint16_t> step_of_;               // the step of its group's program that computes each value
  std::vector<SpareVector<std::uint32_t>> readers_;  // the entries that read each value
  Plan plan_;
};

}  // namespace

Plan make_plan(const Segment& segment, const FusionTraits& traits) { return Planner(segment, traits).make(); }

}  // namespace kiln::fusion

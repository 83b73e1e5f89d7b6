#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "kiln/fusion/passes/passes.hpp"
#include "kiln/fusion/passes/sequence.hpp"
#include "kiln/ops/planned/rows.hpp"

namespace kiln::fusion {
namespace {

using op::form_of;
using op::is_program;
using op::RowForm;

class RowFuser {
 public:
  RowFuser(Plan& plan, const Segment& segment, const FusionTraits::Rows& traits)
      : plan_(plan), segment_(segment), traits_(traits) {}

  void run() {
    for (std::size_t first = 0; first < plan_.steps.size(); ++first) {
      note_readers();
      std::optional<RowForm> form = form_from(first);
      if (!form) form = rows_of_dropout(first);
      if (!form || form->rows < 1 || form->length < 2 || form->length > traits_.max_row) continue;
      form_ = *form;
      join(first);
    }
  }

 private:
  const Desc& desc(std::uint32_t value) const { return segment_.values()[value]->desc; }
  const Shape& shape(std::uint32_t value) const { return desc(value).shape; }
  bool is_full(std::uint32_t value) const { return numel(shape(value)) == form_.count(); }

  void note_readers() {
    if (!readers_known_) readers_ = readers_of(plan_, segment_);
    readers_known_ = true;
  }

  /// Returns the rows of a step that folds its last dimensions by a function that the device has for rows.
  std::optional<RowForm> folds(const PlanStep& step) const {
    if (const auto* reduce = std::get_if<op::Reduce>(&step.op.is))
      if (std::ranges::find(traits_.reductions, reduce->fn) == traits_.reductions.end()) return std::nullopt;
    if (step.in.empty() || step.out.empty()) return std::nullopt;
    return op::folded_rows(step.op, step.in[0].is_value() ? &desc(step.in[0].index()) : nullptr, desc(step.out[0]));
  }

  /// Returns the rows with which a group may begin: those that a step folds, or in which another folds its result.
  std::optional<RowForm> form_from(std::size_t first) const {
    const PlanStep& step = plan_.steps[first];
    if (const std::optional<RowForm> own = folds(step)) return own;
    if (!is_program(step.op)) return std::nullopt;
    for (const std::uint32_t value : step.out)
      for (const std::size_t reader : readers_[value])
        if (const std::optional<RowForm> form = folds(plan_.steps[reader]))
          if (form->count() == numel(shape(value))) return form;
    return std::nullopt;
  }

  /// Returns the rows of a dropout and its neighbour. Where nothing is folded, any last dimensions may be a row: the
  /// longest row, up to a limit, that both steps can process is taken.
  std::optional<RowForm> rows_of_dropout(std::size_t first) {
    const auto is_dropout = [](const PlanStep& step) { return std::holds_alternative<op::Dropout>(step.op.is); };
    const PlanStep& step = plan_.steps[first];
    if (!is_dropout(step) && !is_program(step.op)) return std::nullopt;
    for (const std::uint32_t value : step.out)
      for (const std::size_t reader : readers_[value]) {
        const PlanStep& next = plan_.steps[reader];
        if (!is_dropout(next) && !(is_dropout(step) && is_program(next.op))) continue;
        for (int kept = 0; kept < shape(value).size(); ++kept) {
          form_ = form_of(shape(value), kept);
          member_results_.clear();
          if (form_.length > traits_.max_dropout_row || !fits(step)) continue;
          member_results_.insert(value);
          if (fits(next)) return form_;
        }
      }
    return std::nullopt;
  }

  /// Whether a step processes the rows one by one.
  bool fits(const PlanStep& step) const {
    if (std::holds_alternative<op::Reduce>(step.op.is) && !folds(step)) return false;
    SpareVector<op::RowOperand> in;
    for (const Reference operand : step.in) {
      if (operand.is_value()) in.push_back({&desc(operand.index()), member_results_.contains(operand.index())});
      else in.push_back({nullptr, false});
    }
    return op::processes_rows(step.op, in, desc(step.out[0]), form_);
  }

  /// Whether a step reads a row that a member reads or computes.
  bool shares(const PlanStep& step) const {
    return std::ranges::any_of(step.in, [&](Reference operand) {
      return operand.is_value() && (member_results_.contains(operand.index()) ||
                                    std::ranges::find(read_rows_, operand.index()) != read_rows_.end());
    });
  }

  /// Returns the largest number of rows that a thread block has to keep between two of these steps.
  std::int64_t max_live_rows(const std::vector<std::size_t>& members) const {
    std::map<std::uint32_t, std::pair<std::size_t, std::size_t>> lives;  // the first and last member to use each value
    const auto extend = [&](std::uint32_t value, std::size_t at) {
      if (is_full(value)) lives.try_emplace(value, at, at).first->second.second = at;
    };
    for (std::size_t i = 0; i < members.size(); ++i) {
      for (const Reference operand : plan_.steps[members[i]].in)
        if (operand.is_value()) extend(operand.index(), i);
      for (const std::uint32_t result : plan_.steps[members[i]].out) extend(result, i);
    }
    std::int64_t most = 1;
    for (std::size_t i = 0; i + 1 < members.size(); ++i)
      most = std::max<std::int64_t>(most, std::ranges::count_if(lives, [&](const auto& each) {
                                      return each.second.first <= i && each.second.second > i;
                                    }));
    return most;
  }

  void join(std::size_t first) {
    member_results_.clear();
    read_rows_.clear();
    std::vector<std::size_t> members;
    std::vector<bool> dependent(segment_.values().size());  // values that other steps compute from results of members
    std::size_t work_count = 0;                             // members that do more than change a shape
    bool is_worthwhile = false;
    for (std::size_t i = first; i < plan_.steps.size(); ++i) {
      const PlanStep& step = plan_.steps[i];
      if (may_fail(step.op) || std::holds_alternative<op::Custom>(step.op.is)) break;
      if (!members.empty() && i > members.back() + traits_.max_distance) break;
      const bool waits = std::ranges::any_of(
          step.in, [&](Reference operand) { return operand.is_value() && dependent[operand.index()]; });
      if (!waits && (members.empty() || shares(step)) && fits(step)) {
        members.push_back(i);
        if (members.size() <= traits_.max_steps && max_live_rows(members) * form_.length <= traits_.max_live_rows) {
          work_count +=
              !std::holds_alternative<op::Reshape>(step.op.is) && !std::holds_alternative<op::Expand>(step.op.is);
          is_worthwhile |= folds(step).has_value() || std::holds_alternative<op::Dropout>(step.op.is);
          for (const Reference operand : step.in)
            if (operand.is_value() && is_full(operand.index())) read_rows_.push_back(operand.index());
          for (const std::uint32_t result : step.out) member_results_.insert(result);
          continue;
        }
        members.pop_back();
      }
      const bool follows = waits || std::ranges::any_of(step.in, [&](Reference operand) {
                             return operand.is_value() && member_results_.contains(operand.index());
                           });
      if (follows)
        for (const std::uint32_t result : step.out) dependent[result] = true;
    }
    if (work_count > 1 && is_worthwhile) rebuild(members, dependent);
  }

  /// Replaces the members by one step. Steps in between that depend on a member come after it, the others before it.
  void rebuild(const std::vector<std::size_t>& members, const std::vector<bool>& dependent) {
    std::vector<PlanStep> before, after;
    const std::size_t first = members.front(), end = members.back() + 1;
    PlanStep joined = fused(members);
    for (std::size_t i = first, member = 0; i < end; ++i) {
      if (member < members.size() && members[member] == i) {
        ++member;
        continue;
      }
      PlanStep& step = plan_.steps[i];
      (!step.out.empty() && dependent[step.out[0]] ? after : before).push_back(std::move(step));
    }
    auto to = plan_.steps.begin() + static_cast<std::ptrdiff_t>(first);
    to = std::ranges::move(before, to).out;
    *to++ = std::move(joined);
    to = std::ranges::move(after, to).out;
    plan_.steps.erase(to, plan_.steps.begin() + static_cast<std::ptrdiff_t>(end));
    readers_known_ = false;
  }

  PlanStep fused(const std::vector<std::size_t>& members) {
    const auto sequence = std::make_shared<op::Sequence>();
    SequenceBuilder group(segment_, *sequence);
    for (const std::size_t i : members)
      group.add(plan_.steps[i], [&](std::uint32_t result) {
        return std::ranges::any_of(
            readers_[result], [&](std::size_t reader) { return std::ranges::find(members, reader) == members.end(); });
      });
    return std::move(group).finish(op::RowFused{sequence, form_.rows});
  }

  Plan& plan_;
  const Segment& segment_;
  const FusionTraits::Rows& traits_;
  RowForm form_;
  bool readers_known_ = false;
  std::vector<std::vector<std::size_t>> readers_;  // the steps that read each value
  std::set<std::uint32_t> member_results_;         // values that members compute
  std::vector<std::uint32_t> read_rows_;           // values with all elements of the rows that members read
};

}  // namespace

void fuse_rows(Plan& plan, const Segment& segment, const FusionTraits& traits) {
  if (traits.rows) RowFuser(plan, segment, *traits.rows).run();
}

}  // namespace kiln::fusion

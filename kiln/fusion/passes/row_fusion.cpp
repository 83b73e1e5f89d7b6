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
      if (!form) form = form_of_drops(first);
      if (!form || form->rows < 1 || form->length < 2 || form->length > traits_.longest) continue;
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
  std::optional<RowForm> folds(const Plan::Step& step) const {
    if (const auto* reduce = std::get_if<op::Reduce>(&step.op.is))
      if (std::ranges::find(traits_.reductions, reduce->fn) == traits_.reductions.end()) return std::nullopt;
    if (step.in.empty() || step.out.empty()) return std::nullopt;
    return op::folded_rows(step.op, step.in[0].is_value() ? &desc(step.in[0].index()) : nullptr, desc(step.out[0]));
  }

  /// Returns the rows with which a group may begin: those that a step folds, or in which another folds its result.
  std::optional<RowForm> form_from(std::size_t first) const {
    const Plan::Step& step = plan_.steps[first];
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
  std::optional<RowForm> form_of_drops(std::size_t first) {
    const auto drops = [](const Plan::Step& step) { return std::holds_alternative<op::Dropout>(step.op.is); };
    const Plan::Step& step = plan_.steps[first];
    if (!drops(step) && !is_program(step.op)) return std::nullopt;
    for (const std::uint32_t value : step.out)
      for (const std::size_t reader : readers_[value]) {
        const Plan::Step& next = plan_.steps[reader];
        if (!drops(next) && !(drops(step) && is_program(next.op))) continue;
        for (int kept = 0; kept < shape(value).size(); ++kept) {
          form_ = form_of(shape(value), kept);
          made_.clear();
          if (form_.length > traits_.longest_unfolded || !fits(step)) continue;
          made_.insert(value);
          if (fits(next)) return form_;
        }
      }
    return std::nullopt;
  }

  /// Whether a step processes the rows one by one.
  bool fits(const Plan::Step& step) const {
    if (std::holds_alternative<op::Reduce>(step.op.is) && !folds(step)) return false;
    SpareVector<op::RowOperand> in;
    for (const Reference operand : step.in) {
      if (operand.is_value()) in.push_back({&desc(operand.index()), made_.contains(operand.index())});
      else in.push_back({nullptr, false});
    }
    return op::goes_through_rows(step.op, in, desc(step.out[0]), form_);
  }

  /// Whether a step reads a row that a member reads or computes.
  bool shares(const Plan::Step& step) const {
    return std::ranges::any_of(step.in, [&](Reference operand) {
      return operand.is_value() &&
             (made_.contains(operand.index()) || std::ranges::find(met_, operand.index()) != met_.end());
    });
  }

  /// Returns the largest number of rows that a thread block has to keep between two of these steps.
  std::int64_t held(const std::vector<std::size_t>& members) const {
    std::map<std::uint32_t, std::pair<std::size_t, std::size_t>> lives;  // the first and last member to use each value
    const auto meet = [&](std::uint32_t value, std::size_t at) {
      if (is_full(value)) lives.try_emplace(value, at, at).first->second.second = at;
    };
    for (std::size_t i = 0; i < members.size(); ++i) {
      for (const Reference operand : plan_.steps[members[i]].in)
        if (operand.is_value()) meet(operand.index(), i);
      for (const std::uint32_t result : plan_.steps[members[i]].out) meet(result, i);
    }
    std::int64_t most = 1;
    for (std::size_t i = 0; i + 1 < members.size(); ++i)
      most = std::max<std::int64_t>(most, std::ranges::count_if(lives, [&](const auto& each) {
                                      return each.second.first <= i && each.second.second > i;
                                    }));
    return most;
  }

  void join(std::size_t first) {
    made_.clear();
    met_.clear();
    std::vector<std::size_t> members;
    std::vector<bool> late(segment_.values().size());  // values that other steps compute from results of members
    std::size_t works = 0;                             // members that do more than change a shape
    bool worth = false;
    for (std::size_t i = first; i < plan_.steps.size(); ++i) {
      const Plan::Step& step = plan_.steps[i];
      if (may_fail(step.op) || std::holds_alternative<op::Custom>(step.op.is)) break;
      if (!members.empty() && i > members.back() + traits_.farthest) break;
      const bool waits =
          std::ranges::any_of(step.in, [&](Reference operand) { return operand.is_value() && late[operand.index()]; });
      if (!waits && (members.empty() || shares(step)) && fits(step)) {
        members.push_back(i);
        if (members.size() <= traits_.most_steps && held(members) * form_.length <= traits_.most_held) {
          works += !std::holds_alternative<op::Reshape>(step.op.is) && !std::holds_alternative<op::Expand>(step.op.is);
          worth |= folds(step).has_value() || std::holds_alternative<op::Dropout>(step.op.is);
          for (const Reference operand : step.in)
            if (operand.is_value() && is_full(operand.index())) met_.push_back(operand.index());
          for (const std::uint32_t result : step.out) made_.insert(result);
          continue;
        }
        members.pop_back();
      }
      const bool follows = waits || std::ranges::any_of(step.in, [&](Reference operand) {
                             return operand.is_value() && made_.contains(operand.index());
                           });
      if (follows)
        for (const std::uint32_t result : step.out) late[result] = true;
    }
    if (works > 1 && worth) rebuild(members, late);
  }

  /// Replaces the members by one step. Steps in between that depend on a member come after it, the others before it.
  void rebuild(const std::vector<std::size_t>& members, const std::vector<bool>& late) {
    std::vector<Plan::Step> before, after;
    const std::size_t first = members.front(), end = members.back() + 1;
    Plan::Step joined = fused(members);
    for (std::size_t i = first, member = 0; i < end; ++i) {
      if (member < members.size() && members[member] == i) {
        ++member;
        continue;
      }
      Plan::Step& step = plan_.steps[i];
      (!step.out.empty() && late[step.out[0]] ? after : before).push_back(std::move(step));
    }
    auto to = plan_.steps.begin() + static_cast<std::ptrdiff_t>(first);
    to = std::ranges::move(before, to).out;
    *to++ = std::move(joined);
    to = std::ranges::move(after, to).out;
    plan_.steps.erase(to, plan_.steps.begin() + static_cast<std::ptrdiff_t>(end));
    readers_known_ = false;
  }

  Plan::Step fused(const std::vector<std::size_t>& members) {
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
  std::set<std::uint32_t> made_;                   // values that members compute
  std::vector<std::uint32_t> met_;                 // values with all elements of the rows that members read
};

}  // namespace

void fuse_rows(Plan& plan, const Segment& segment, const FusionTraits& traits) {
  if (traits.rows) RowFuser(plan, segment, *traits.rows).run();
}

}  // namespace kiln::fusion

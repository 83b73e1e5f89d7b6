// When a walk over a tape knows that a leaf's gradient is final.
#pragma once
#include <cstdint>
#include <iterator>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "kiln/ops/op.hpp"
#include "kiln/ops/record.hpp"

namespace kiln {

/// Which leaves' gradients are final, in a walk that is under way: a leaf's is once the walk is past the earliest record that
/// takes it, as far as all records are known that the walk may still come to. Some hold all leaves back while they are to
/// come: checkpoints, as what they make when they run again may take any leaf, and where ranks meet (see OnFinal).
class Finality {
 public:
  /// The walk will come to what led to `value`.
  void reach(const Value& value) {
    if (!value.tracked() || !seen_.insert(value.tape()->order).second) return;
    std::vector<const Record*> open{value.tape().get()};
    while (!open.empty()) {
      const Record& record = *open.back();
      open.pop_back();
      if (record.again || meets_ranks(record)) holding_.insert(record.order);
      for (const Value& in : record.in) {
        if (!in.tracked()) continue;
        const Record& from = *in.tape();
        if (from.is_leaf()) add(from, record);
        else if (seen_.insert(from.order).second) open.push_back(&from);
      }
    }
  }

  void visited(const Record& record) { holding_.erase(record.order); }

  /// Calls f(a leaf's order) for those that have become final, where the walk comes to record `next` now; 0: to its end.
  template <class F>
  void advance(std::uint64_t next, F f) {
    holding_.erase(holding_.upper_bound(next), holding_.end());  // no gradient flowed there
    if (!holding_.empty()) return;
    while (!leaves_.empty() && leaves_.rbegin()->first > next) {
      const std::uint64_t leaf = leaves_.rbegin()->second;
      leaves_.erase(std::prev(leaves_.end()));
      earliest_.erase(leaf);
      f(leaf);
    }
  }

 private:
  /// Do ranks meet where its gradient is made?
  static bool meets_ranks(const Record& record) {
    return record.op &&
           op::visit(*record.op, []<class T>(const T&) { return T::kFacts.may_fail == MayFail::WithRanks; });
  }
  void add(const Record& leaf, const Record& record) {
    const auto [known, fresh] = earliest_.try_emplace(leaf.order, record.order);
    if (!fresh && known->second <= record.order) return;
    if (!fresh) leaves_.erase({known->second, leaf.order});
    known->second = record.order;
    leaves_.insert({record.order, leaf.order});
  }

  // By their orders, which no other record ever has, while its memory may become another's.
  std::unordered_set<std::uint64_t> seen_;
  std::set<std::uint64_t> holding_;
  std::unordered_map<std::uint64_t, std::uint64_t> earliest_;  // of a leaf: which record takes it first
  std::set<std::pair<std::uint64_t, std::uint64_t>> leaves_;   // the same, in the order of those records
};

}  // namespace kiln

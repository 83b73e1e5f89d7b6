// Finds out when a leaf's gradient is final during the traversal of a tape.
#pragma once
#include <cstdint>
#include <iterator>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "kiln/ops/expand.hpp"
#include "kiln/ops/record.hpp"

namespace kiln {

/// The leaves whose gradients are final in a running traversal: a leaf is final once the traversal has passed the
/// earliest record that reads it, among all records known to be still ahead. Some records hold all leaves back while
/// they are ahead: checkpoints, as their second run may read any leaf, and collectives (see OnFinal).
class Finality {
 public:
  /// Adds the records that `value` depends on to those ahead.
  void reach(const Value& value) {
    if (!value.tracked() || !seen_.insert(value.tape()->order).second) return;
    std::vector<const Record*> open{value.tape().get()};
    while (!open.empty()) {
      const Record& record = *open.back();
      open.pop_back();
      if (record.recompute || (record.op && needs_ranks(*record.op))) holding_.insert(record.order);
      for (const Value& in : record.in) {
        if (!in.tracked()) continue;
        const Record& from = *in.tape();
        if (from.is_leaf()) add(from, record);
        else if (seen_.insert(from.order).second) open.push_back(&from);
      }
    }
  }

  void visited(const Record& record) { holding_.erase(record.order); }

  /// Calls f(order of the leaf) for leaves that have become final, where `next` is the next record of the traversal; 0:
  /// its end.
  template <class F>
  void advance(std::uint64_t next, F f) {
    holding_.erase(holding_.upper_bound(next), holding_.end());  // no gradient reached these
    if (!holding_.empty()) return;
    while (!leaves_.empty() && leaves_.rbegin()->first > next) {
      const std::uint64_t leaf = leaves_.rbegin()->second;
      leaves_.erase(std::prev(leaves_.end()));
      earliest_.erase(leaf);
      f(leaf);
    }
  }

 private:
  void add(const Record& leaf, const Record& record) {
    const auto [known, fresh] = earliest_.try_emplace(leaf.order, record.order);
    if (!fresh && known->second <= record.order) return;
    if (!fresh) leaves_.erase({known->second, leaf.order});
    known->second = record.order;
    leaves_.insert({record.order, leaf.order});
  }

  // Identified by their orders, which are unique, while the memory of a record may be reused.
  std::unordered_set<std::uint64_t> seen_;
  std::set<std::uint64_t> holding_;
  std::unordered_map<std::uint64_t, std::uint64_t> earliest_;  // for a leaf: the first record that reads it
  std::set<std::pair<std::uint64_t, std::uint64_t>> leaves_;   // these pairs in the order of the records
};

}  // namespace kiln

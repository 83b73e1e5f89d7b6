// Simplification: the operations of a segment with less work. Repeats of an operation refer to the first one's result,
// tensors filled with one number become the number, arithmetic on such tensors becomes arithmetic on numbers, and
// halves are not widened for kernels that do so themselves.
#pragma once
#include "kiln/fusion/plan.hpp"

namespace kiln::fusion {

/// The entries have the same indices as the segment's; a repeat has become a view of the first one's result.
class Simplification {
 public:
  Simplification(const Segment& segment, const FusionTraits& traits);

  std::size_t size() const { return entries_.size(); }
  const std::vector<RecordedCall>& entries() const { return entries_; }
  std::span<const Reference> operands(const RecordedCall& entry) const {
    return {&references_[entry.first], entry.operands};
  }
  std::span<const Reference> results(const RecordedCall& entry) const {
    return {&references_[entry.first + entry.operands], entry.results};
  }
  const std::vector<ConstantFold>& constant_folds() const { return constant_folds_; }

 private:
  class Simplifier;

  std::vector<RecordedCall> entries_;
  std::vector<Reference> references_;
  std::vector<ConstantFold> constant_folds_;
};

}  // namespace kiln::fusion

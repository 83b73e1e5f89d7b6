// Operands that the tape did not keep (Checkpointing::Balanced), made again when a gradient reads them.
#pragma once
#include <map>

#include "kiln/ops/record.hpp"
#include "kiln/ops/vjp.hpp"

namespace kiln {

/// Belongs to one walk over a tape, in which records come after all that were made from their results.
class Rematerialisations {
 public:
  /// What the record's op is differentiated with, while the caller holds the record.
  Backward backward(const Ref<Record>& record, SpareValues grads);
  /// No gradient reads the record's results any more.
  void forget(const Record& record) { made_.erase(&record); }

 private:
  Value value(const Value& handle);
  const Values& results(const Record& record);

  std::map<const Record*, Values> made_;
};

}  // namespace kiln

// Operands that the tape did not keep (Checkpointing::Balanced), recomputed when a gradient reads them.
#pragma once
#include <map>

#include "kiln/ops/record.hpp"
#include "kiln/ops/vjp.hpp"

namespace kiln {

/// Belongs to one traversal of a tape, which visits a record after all records that read its results.
class Rematerialisations {
 public:
  /// Returns the operands and results for the record's vjp. The caller must keep the record alive.
  Backward backward(const Ref<Record>& record, SpareValues grads);
  /// Frees the record's results; call it when no further gradient reads them.
  void forget(const Record& record) { made_.erase(&record); }

 private:
  Value value(const Value& handle);
  const Values& results(const Record& record);

  std::map<const Record*, Values> made_;
};

}  // namespace kiln

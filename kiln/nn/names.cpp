#include "kiln/nn/names.hpp"

#include "kiln/ops/record.hpp"

namespace kiln::nn {

bool is_about(const Value& operand, const Value& param) {
  if (!operand.node()) return false;
  if (operand.node() == param.node()) return true;
  const Record* record = operand.tape().get();
  while (record && !record->is_leaf() && record->in.size() == 1) record = record->in[0].tape().get();
  return record && record == param.tape().get();
}

}  // namespace kiln::nn

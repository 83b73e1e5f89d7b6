#include "kiln/nn/names.hpp"

#include "kiln/ops/record.hpp"
#include "kiln/ops/scope/scope.hpp"

namespace kiln {
namespace {

/// Is `operand` this parameter, or a transposed, reshaped or cast one?
bool is_about(const Value& operand, const Value& param) {
  if (!operand.node()) return false;
  if (operand.node() == param.node()) return true;
  const Record* record = operand.tape().get();
  while (record && !record->is_leaf() && record->in.size() == 1) record = record->in[0].tape().get();
  return record && record == param.tape().get();
}

}  // namespace

void ParamNames::Describe::operator()(ErrorKind kind, std::string& sentence) const {
  if (kind != ErrorKind::Shape && kind != ErrorKind::DType) return;
  std::string place;
  OperandScope::each([&](const Value& operand) {
    if (!place.empty()) return;
    visit_params(model, [&](const std::string& path, const nn::AnyLeaf& param) {
      if (place.empty() && is_about(operand, param.value())) place = text(", in ", path, ' ', param.shape());
    });
  });
  sentence += place;
}

}  // namespace kiln

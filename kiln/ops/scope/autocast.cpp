#include "kiln/ops/scope/autocast.hpp"

#include <algorithm>

#include "kiln/ops/composite.hpp"
#include "kiln/ops/op.hpp"
#include "kiln/ops/scope/scope.hpp"

namespace kiln {
namespace {

thread_local DType current = DType::F32;

}  // namespace

Autocast::Autocast(DType dtype) : before_(current) {
  require<ArgumentError>(dtype == DType::F32 || op::is_half(dtype),
                         "Autocast: must be bfloat16, float16 or float32, got ", dtype);
  current = dtype;
}
Autocast::~Autocast() { current = before_; }
DType autocast_dtype() { return current; }

Inputs autocast(const op::Op& op, Inputs in, Values& held) {
  const AutocastTo wanted = op::visit(op, [](const auto& o) { return autocast_of(o); });
  if (wanted == AutocastTo::Same) return in;
  const auto changes = [&](const Value& operand) {
    if (!operand.node()) return false;
    return wanted == AutocastTo::Half ? operand.dtype() == DType::F32 : op::is_half(operand.dtype());
  };
  if (std::none_of(in.begin(), in.end(), changes)) return in;
  held.assign(in.begin(), in.end());
  for (Value& operand : held)
    if (changes(operand)) operand = cast(operand, wanted == AutocastTo::Half ? current : DType::F32);
  return held;
}

}  // namespace kiln

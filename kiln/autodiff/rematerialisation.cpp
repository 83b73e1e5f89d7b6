#include "kiln/autodiff/rematerialisation.hpp"

#include "kiln/ops/emit.hpp"

namespace kiln {

Backward Rematerialisations::backward(const Ref<Record>& record, SpareValues grads) {
  const Rematerialisation& rematerialisation = record->rematerialisation;
  if (rematerialisation.missing == 0 && !rematerialisation.missing_out) return Backward(record, std::move(grads));
  Values in;
  for (std::size_t i = 0; i < record->in.size(); ++i) {
    const Value& kept = record->in[i];
    const bool missing = i < 32 && (rematerialisation.missing >> i & 1u);
    in.push_back(missing ? value(kept) : kept);
  }
  return Backward(record, std::move(grads), std::move(in), rematerialisation.missing_out ? results(*record) : Values{});
}

Value Rematerialisations::value(const Value& handle) {
  if (!handle.empty() || !handle.tracked()) return handle;
  const Values& made = results(*handle.tape());
  return Value(made[static_cast<std::size_t>(handle.slot())].node(), handle.tape(), handle.slot());
}

const Values& Rematerialisations::results(const Record& record) {
  const auto found = made_.find(&record);
  if (found != made_.end()) return found->second;
  const NoGrad pause;
  Values in;
  for (const Value& operand : record.in) in.push_back(value(operand));
  return made_[&record] = emit_all(record.device, *record.op, in);
}

}  // namespace kiln

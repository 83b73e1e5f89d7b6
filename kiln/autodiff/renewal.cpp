#include "kiln/autodiff/renewal.hpp"

#include "kiln/ops/emit.hpp"

namespace kiln {

Backward Renewals::backward(const Ref<Record>& record, SpareValues grads) {
  const Renewal& renewal = record->renewal;
  if (renewal.missing == 0 && !renewal.missing_out) return Backward(record, std::move(grads));
  Values in;
  for (std::size_t i = 0; i < record->in.size(); ++i) {
    const Value& kept = record->in[i];
    const bool missing = i < 32 && (renewal.missing >> i & 1u);
    in.push_back(missing ? value(kept) : kept);
  }
  return Backward(record, std::move(grads), std::move(in), renewal.missing_out ? results(*record) : Values{});
}

Value Renewals::value(const Value& handle) {
  if (!handle.empty() || !handle.tracked()) return handle;
  const Values& made = results(*handle.tape());
  return Value(made[static_cast<std::size_t>(handle.slot())].node(), handle.tape(), handle.slot());
}

const Values& Renewals::results(const Record& record) {
  const auto found = made_.find(&record);
  if (found != made_.end()) return found->second;
  const NoGrad pause;
  Values in;
  for (const Value& operand : record.in) in.push_back(value(operand));
  return made_[&record] = emit_all(record.device, *record.op, in);
}

}  // namespace kiln

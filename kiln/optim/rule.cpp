#include "kiln/optim/rule.hpp"

#include <algorithm>
#include <cmath>

#include "kiln/core/error/error.hpp"
#include "kiln/ops/reduce/statistics.hpp"
#include "kiln/ops/scope/no_grad.hpp"

namespace kiln {
namespace {

/// The float32 values of `param`: those of its master, or its own where it was changed since the master was rounded to
/// it.
Value current_master(const Value& master, const Value& param) {
  return where(eq(cast(master, param.dtype()), param), master, cast(param, DType::F32));
}

}  // namespace

Values AnyRule::zeros_for(const Value& param, std::size_t count) {
  Values slots;
  for (std::size_t i = 0; i < count; ++i) slots.push_back(zeros_like(param));
  return slots;
}

ParamState fresh_state(const AnyRule& rule, const Value& param) {
  const NoGrad pause;
  ParamState state;
  const Value plain = param.detach();
  if (size_of(param.dtype()) == 2) state.master = cast(plain, DType::F32);
  state.slots = rule.fresh_slots(state.master ? state.master : plain);
  state.numbers.resize(rule.number_names().size());
  return state;
}

Value updated(const AnyRule& rule, const Value& param, const Value& grad, double rate, ParamState& state) {
  if (!state.master) return rule.update(param, cast(grad, param.dtype()), rate, state);
  state.master = rule.update(current_master(state.master, param), cast(grad, DType::F32), rate, state);
  return cast(state.master, param.dtype());
}

namespace rules {

void require_shares(std::string_view rule, std::initializer_list<Option> options) {
  for (const Option& option : options)
    require<ArgumentError>(option.value >= 0 && option.value < 1, rule, "Config: ", option.name, " = ", option.value,
                           " must lie in [0, 1)");
}

void require_not_negative(std::string_view rule, std::initializer_list<Option> options) {
  for (const Option& option : options)
    require<ArgumentError>(std::isfinite(option.value) && option.value >= 0, rule, "Config: ", option.name, " = ",
                           option.value, std::isfinite(option.value) ? " must not be negative" : " must be finite");
}

void require_positive(std::string_view rule, std::initializer_list<Option> options) {
  for (const Option& option : options)
    require<ArgumentError>(std::isfinite(option.value) && option.value > 0, rule, "Config: ", option.name, " = ",
                           option.value, std::isfinite(option.value) ? " must be positive" : " must be finite");
}

Value moving_average(const Value& old, const Value& fresh, double share) { return old * share + fresh * (1 - share); }

Value norm(const Value& x) { return euclidean_length(x.detach(), all_dims(x)); }

Value root_mean_square(const Value& x) {
  return norm(x) / std::sqrt(static_cast<double>(std::max<std::int64_t>(x.numel(), 1)));
}

Value as_matrix(std::string_view rule, const Value& x) {
  require<ArgumentError>(x.rank() >= 2, rule, ": a parameter of shape ", x.shape(),
                         " is no matrix; put it into a group with another rule");
  return reshape(x, {x.dim(0), x.numel() / std::max<std::int64_t>(x.dim(0), 1)});
}

}  // namespace rules
}  // namespace kiln

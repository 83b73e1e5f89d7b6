#include "kiln/optim/optimizer.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <ranges>

#include "kiln/core/error/memory_error.hpp"
#include "kiln/ops/read.hpp"
#include "kiln/ops/scope/no_grad.hpp"

namespace kiln {
namespace {

void require_rate(std::string_view optimizer, double rate) {
  require<ArgumentError>(std::isfinite(rate) && rate >= 0, optimizer, ": a learning rate of ", rate);
}

void require_gradient(std::string_view optimizer, const NamedParam& param, const Value& grad) {
  require<ShapeError>(grad.shape() == param.value.shape(), optimizer, ": the gradient of '", param.path, "' has shape ",
                      grad.shape(), ", the parameter ", param.value.shape());
}

/// Throws ShapeError unless the state, or what was computed from it, has the parameter's shape: broadcasting would make
/// another parameter of it.
void require_shape(std::string_view optimizer, const NamedParam& param, const Value& made) {
  require<ShapeError>(
      made.shape() == param.value.shape(), optimizer, ": the state of '", param.path,
      "' belongs to a parameter of another shape, ", made.shape(), ", this one has ", param.value.shape(),
      ": make an optimizer for this model by init(), or forget the state by remove('", param.path, "')");
}

void require_shapes(std::string_view optimizer, const NamedParam& param, const AnyRule& rule, const ParamState& state) {
  for (const Value& slot : state.slots)
    if (rule.elementwise() && !slot.empty()) require_shape(optimizer, param, slot);
  if (state.master) require_shape(optimizer, param, state.master);
}

}  // namespace

OptimizerState::OptimizerState(AnyRule rule, OptimizerOptions options)
    : groups_{{.params = Selector::all(), .rule = std::move(rule)}}, clip_(options.clip) {
  groups_.insert(groups_.end(), options.groups.begin(), options.groups.end());
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    groups_[i].rule.check();
    require_rate(groups_[i].rule.name(), groups_[i].rate);
  }
  clip_.check();
}

std::size_t OptimizerState::group_for(const std::string& path) const {
  for (std::size_t i = 1; i < groups_.size(); ++i)
    if (groups_[i].params.matches(path)) return i;
  return 0;
}

ParamState OptimizerState::fresh(const NamedParam& param, std::size_t group) const {
  const auto say_which = [&](ErrorKind, std::string& sentence) { sentence += text(", as '", param.path, "' is"); };
  const ErrorContext context(say_which);
  return fresh_state(groups_[group].rule, param.value);
}

std::vector<NamedParam> trained_params(std::string_view function, const nn::ModuleView& model) {
  nn::require_trainable(function, model);
  std::vector<NamedParam> params;
  visit_params(model, [&](const std::string& path, const nn::AnyLeaf& param) {
    if (!param.is_frozen()) params.push_back({path, param.value()});
  });
  return params;
}

void OptimizerState::add(const nn::ModuleView& model) {
  nn::require_trainable(groups_[0].rule.name(), model);
  const std::vector<nn::ParamWithPaths> params = nn::params_with_paths(model);
  for (std::size_t i = 1; i < groups_.size(); ++i)
    for (const std::string& path : nn::selected(groups_[0].rule.name(), params, groups_[i].params))
      group_of_.try_emplace(path, i);
  for (const nn::ParamWithPaths& param : params) {
    const std::string& path = param.places[0].path;
    const std::size_t group = group_of_.try_emplace(path, 0).first->second;
    if (!param.is_frozen) states_[path] = fresh({path, param.value}, group);
  }
}

Rates OptimizerState::rates(double rate) const {
  Rates all;
  for (const ParamGroup& group : groups_) all.push_back(rate * group.rate);
  return all;
}

GradientsParams OptimizerState::clipped(GradientsParams grads, const std::map<std::string, Value>& params) const {
  if (!among_ || !clip_.global_norm) return clip_.clipped(std::move(grads), params);
  ClipOptions own = clip_;  // what needs no other rank
  own.global_norm.reset();
  return clip_by_global_norm(own.clipped(std::move(grads), params), *clip_.global_norm, among_, zero_);
}

OptimizerState::Changes OptimizerState::changes(const Rates& rates, const std::vector<NamedParam>& params,
                                                GradientsParams grads) const {
  const std::string_view name = groups_[0].rule.name();
  require<ArgumentError>(rates.size() == groups_.size(), name, ": ", rates.size(), " rates for ", groups_.size(),
                         " groups, the optimizer's own among them");
  for (std::size_t i = 0; i < rates.size(); ++i) require_rate(groups_[i].rule.name(), rates[i]);
  std::map<std::string, std::size_t> groups;
  GradientsParams taken;
  std::map<std::string, Value> values;  // for clipping, which may need them
  for (const NamedParam& param : params) {
    const auto grad = grads.by_path.find(param.path);
    if (grad == grads.by_path.end()) continue;
    require_gradient(name, param, grad->second);
    const auto known = group_of_.find(param.path);
    groups[param.path] = known != group_of_.end() ? known->second : group_for(param.path);
    values[param.path] = param.value.detach();
    taken.by_path.insert(grads.by_path.extract(grad));
  }

  const NoGrad pause;
  taken = clipped(std::move(taken), values);
  Values gradients;
  for (const auto& [path, grad] : taken.by_path) gradients.push_back(grad);
  run_pending(gradients);  // errors of gradients occur here, before anything has changed

  std::map<std::string, Value> updates;
  std::map<std::string, ParamState> states;
  Values computed;
  // In reverse, as gradients become ready: with several ranks, the first parameters' gradients arrive last.
  for (const NamedParam& param : std::views::reverse(params)) {
    const Value* const grad = taken.find(param.path);
    if (!grad || param.value.numel() == 0) continue;
    const std::size_t group = groups[param.path];
    const auto known = states_.find(param.path);
    ParamState& state = states[param.path] = known != states_.end() ? known->second : fresh(param, group);
    const AnyRule& rule = groups_[group].rule;
    require_shapes(name, param, rule, state);
    const Value& value = updates[param.path] = updated(rule, values[param.path], *grad, rates[group], state);
    require_shape(name, param, value);
    ++state.steps;
  }
  for (const auto& [path, value] : updates) {
    const ParamState& state = states.at(path);
    computed.push_back(value);
    std::ranges::copy_if(state.slots, std::back_inserter(computed), [](const Value& slot) { return !slot.empty(); });
    if (state.master) computed.push_back(state.master);
  }
  return {std::move(updates), std::move(states), std::move(groups), std::move(computed)};
}

void OptimizerState::step(const Rates& rates, const nn::ModuleRef& model, const GradientsParams& grads) {
  with_memory_error(groups_[0].rule.name(), [&] { apply(rates, model, grads); });
}

void OptimizerState::step(double rate, const nn::ModuleRef& model, const GradientsParams& grads) {
  with_memory_error(groups_[0].rule.name(), [&] { apply(rates(rate), model, grads); });
}

void OptimizerState::put(Changes& changes) {
  for (auto& [path, state] : changes.states)
    if (const auto known = states_.find(path); known != states_.end()) known->second = std::move(state);
  states_.merge(changes.states);
  group_of_.merge(changes.groups);
}

void OptimizerState::compute(const Values& values) const {
  const auto say_when = [&](ErrorKind, std::string& sentence) {
    sentence += text(", while ", groups_[0].rule.name(), " was writing a step over the last: go on from a checkpoint");
  };
  const ErrorContext context(say_when);
  // A step ends here: the device may start while the next batch is prepared.
  with_memory_error(groups_[0].rule.name(), [&] { run_pending(values); });
}

void OptimizerState::apply(const Rates& rates, const nn::ModuleRef& model, const GradientsParams& grads) {
  Values computed;
  {
    Changes made = changes(rates, trained_params(groups_[0].rule.name(), model), grads);
    const nn::ParamChanges params(model, made.params);
    // From here to the end of the block nothing allocates.
    params.put();
    put(made);
    computed.swap(made.computed);
  }
  compute(computed);
}

std::map<std::string, Value> OptimizerState::step_parts(const Rates& rates, const std::vector<NamedParam>& parts,
                                                        const GradientsParams& grads) {
  return or_memory_error(groups_[0].rule.name(), [&] {
    Changes made = changes(rates, parts, grads);
    put(made);
    const Values computed = std::move(made.computed);
    std::map<std::string, Value> params = std::move(made.params);
    compute(computed);
    return params;
  });
}

bool OptimizerState::averages() const {
  return std::ranges::any_of(groups_, [](const ParamGroup& group) { return group.rule.averages(); });
}

bool OptimizerState::needs_whole(const std::string& path) const {
  return !rule_of(path).elementwise() || clip_.norm || clip_.adaptive;
}

void OptimizerState::keep(const ParamParts& parts, const Ranks& among, const Value& zero) {
  std::map<std::string, ParamState> kept;
  for (auto& [path, state] : states_) {
    const auto part = parts.find(path);
    if (part == parts.end()) continue;
    ParamState& own = kept[path] = std::move(state);
    if (!rule_of(path).elementwise()) continue;  // its part is all of the parameter
    for (Value& slot : own.slots) slot = copied_part(slot, part->second);
    own.master = copied_part(own.master, part->second);
  }
  states_ = std::move(kept);
  among_ = among;
  zero_ = zero;
}

Value OptimizerState::averaged(const NamedParam& param) const {
  const auto state = states_.find(param.path);
  if (state == states_.end() || state->second.steps == 0) return param.value;
  const NoGrad pause;
  const AnyRule& rule = rule_of(param.path);
  if (!rule.averages()) return param.value;
  const Value& master = state->second.master;
  require_shapes(groups_[0].rule.name(), param, rule, state->second);
  const Value average = rule.averaged(master ? master : param.value, state->second);
  require_shape(groups_[0].rule.name(), param, average);
  if (!master) return average;
  return average.node() == master.node() ? param.value : cast(average, param.value.dtype());
}

void OptimizerState::move_to(const Device& device) {
  const auto move = [&](Value& value) {
    if (!value.empty()) value = to_device(value, device);
  };
  for (auto& [path, state] : states_) {
    for (Value& slot : state.slots) move(slot);
    move(state.master);
  }
}

void OptimizerState::put_averages(const nn::ModuleRef& model) const {
  visit_params(model, [&](const std::string& path, nn::AnyLeaf& param) {
    const Value average = averaged({path, param.value()});
    if (average.node() != param.value().node()) param.set(average);
  });
}

}  // namespace kiln

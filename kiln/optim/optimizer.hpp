// The frame of every optimizer: a rule for one parameter, applied to all that have a gradient, and its state.
#pragma once
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "kiln/nn/gradients.hpp"
#include "kiln/ops/read.hpp"
#include "kiln/ops/scope/no_grad.hpp"

namespace kiln {

/// What a rule remembers of one parameter: how often it was updated, and tensors of its shape, zeros at first.
///
/// A parameter of a half type has a master, the same numbers in float32, which rules update in its place: most steps are
/// too small to change a half. Its tensors are float32 too. The parameter is its master, rounded; an element that is not
/// (weights were clipped, averaged or loaded since the last step) is its own master from then on.
struct ParamState {
  std::int64_t steps = 0;  // before the update under way
  Values slots;
  Value master;  // empty of a float32 or float64 parameter
};

/// How a parameter and its gradient become a new parameter. `slot_names` says what the state's tensors are; the config
/// of an optimizer is its rule.
template <class R>
concept UpdateRule = requires(const R& rule, const Value& value, double rate, ParamState& state) {
  { R::kName } -> std::convertible_to<std::string_view>;
  { rule.slot_names() } -> std::convertible_to<std::span<const std::string_view>>;
  { rule.update(value, value, rate, state) } -> std::same_as<Value>;
  rule.check();
};

/// Zeros for each of `slots` tensors, and a master where there has to be one.
ParamState fresh_state(const Value& param, std::size_t slots);
/// The numbers that `param` stands for: those of its master, or its own where they were changed.
Value current_master(const Value& master, const Value& param);
/// Throws ArgumentError for a rate that is negative or no number.
void require_rate(std::string_view optimizer, double rate);
/// Throws ShapeError where they do not fit.
void require_gradient(std::string_view optimizer, const std::string& path, const Value& param, const Value& grad);

template <class Rule>
class Optimizer {
 public:
  /// State for each parameter of `model` that is not frozen; one that is unfrozen later begins without. Throws AutodiffError where the model was not made on an autodiff device,
  /// ArgumentError for options without meaning.
  template <Module M>
  Optimizer(const Rule& rule, const M& model) : rule_(rule) {
    static_assert(UpdateRule<Rule>);
    rule_.check();
    nn::require_trainable(Rule::kName, model);
    visit_params(model, [&](const std::string& path, const auto& param) {
      if (!param.is_frozen()) states_[path] = state_of(path, param.value());
    });
  }

  /// One update with learning rate `rate`: the model with new leaves where `grads` has a gradient; the other parameters
  /// and frozen ones stay as they are. Runs what was asked for so far. Where that fails (an index out of range, no memory
  /// left) this throws, and the caller's model and the optimizer are as before, so that a program may go on with another
  /// batch.
  template <class M>
  requires Module<M> std::remove_cvref_t<M> step(double rate, M&& model, const GradientsParams& grads) {
    require_rate(Rule::kName, rate);
    const NoGrad pause;
    struct Update {
      Value param;
      ParamState state;
    };
    std::map<std::string, Update> updates;
    Values made;  // of all that is updated
    visit_params(std::as_const(model), [&](const std::string& path, const auto& param) {
      const Value* grad = grads.find(path);
      if (!grad || param.is_frozen()) return;
      require_gradient(Rule::kName, path, param.value(), *grad);
      Update& update = updates[path];
      update.state = state_of(path, param.value());
      update.param = updated(param.value().detach(), *grad, rate, update.state);
      ++update.state.steps;
      made.push_back(update.param);
      made.insert(made.end(), update.state.slots.begin(), update.state.slots.end());
      if (update.state.master) made.push_back(update.state.master);
    });
    run_pending(made);  // a step ends here: the device may start while the next batch is prepared

    std::remove_cvref_t<M> result = std::forward<M>(model);
    visit_params(result, [&](const std::string& path, auto& param) {
      if (const auto update = updates.find(path); update != updates.end())
        param = param.with_value(update->second.param);
    });
    for (auto& [path, update] : updates) states_[path] = std::move(update.state);
    return result;
  }

  const Rule& config() const { return rule_; }
  const std::map<std::string, ParamState>& states() const { return states_; }

  /// Calls f(name, part) for what a record of the optimizer holds: the state's tensors, as Value& under names such as
  /// "conv1.weight.first_moment" and, of a half type's master, "conv1.weight.master", and the numbers of steps, as
  /// std::int64_t& under "conv1.weight.steps". What f leaves there takes their place.
  template <class F>
  void visit_state(F&& f) {
    visit_state_of(*this, f);
  }
  template <class F>
  void visit_state(F&& f) const {
    visit_state_of(*this, f);
  }

 private:
  template <class Self, class F>
  static void visit_state_of(Self& self, F& f) {
    const auto names = self.rule_.slot_names();
    for (auto& [path, state] : self.states_) {
      for (std::size_t i = 0; i < state.slots.size(); ++i) f(text(path, '.', names[i]), state.slots[i]);
      if (state.master) f(text(path, ".master"), state.master);
      f(text(path, ".steps"), state.steps);
    }
  }

  Value updated(const Value& param, const Value& grad, double rate, ParamState& state) const {
    if (!state.master) return rule_.update(param, grad, rate, state);
    state.master = rule_.update(current_master(state.master, param), cast(grad, DType::F32), rate, state);
    return cast(state.master, param.dtype());
  }

  ParamState state_of(const std::string& path, const Value& param) const {
    const auto found = states_.find(path);
    return found != states_.end() ? found->second : fresh_state(param, rule_.slot_names().size());
  }

  Rule rule_;
  std::map<std::string, ParamState> states_;
};

}  // namespace kiln

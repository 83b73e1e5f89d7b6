// The frame of every optimizer: rules for one parameter each, applied to all that have a gradient, and their state.
//
//   AdamW optimizer = AdamWConfig{.weight_decay = 0.1}.init(model);
//   model = optimizer.step(1e-3, std::move(model), grads);
//
// Parameters may be put into groups, each with a rule and a rate of its own, and gradients clipped before the step:
//
//   AnyOptimizer optimizer(MuonConfig{}, model,
//                          {.groups = {{.params = Selector::rank(0, 1), .rule = AdamWConfig{}, .rate = 0.1}},
//                           .clip = {.global_norm = 1.0}});
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "kiln/nn/module/selector.hpp"
#include "kiln/optim/clip.hpp"
#include "kiln/optim/number.hpp"
#include "kiln/optim/rule.hpp"

namespace kiln {

/// A parameter by its path.
struct NamedParam {
  std::string path;
  Value value;
};

/// Some of a model's parameters, with a rule of their own.
struct ParamGroup {
  Selector params;
  AnyRule rule;
  double rate = 1;  // times the rate of a step
};

/// What every optimizer can be told besides its rule. A parameter belongs to the first group that wants it.
struct OptimizerOptions {
  std::vector<ParamGroup> groups{};
  ClipOptions clip{};
};

/// A rate for each group: first that of the optimizer's own rule, then those of its groups, in order.
using Rates = std::vector<double>;

/// What an optimizer is but for the types of its model and of its rule.
class OptimizerState {
 public:
  using NewValues = std::map<std::string, Value>;

  /// Throws ArgumentError for options without meaning.
  OptimizerState(AnyRule rule, OptimizerOptions options);
  /// Puts each of a model's parameters into its group, and makes the state of those that are trained. Throws
  /// AutodiffError where none can be, ArgumentError where a group selects none.
  void add(const nn::ModuleView& model);
  /// New values of those of `params`, all that are trained, for which there is a gradient: they and the state are asked
  /// for, and made by run(). Runs what the gradients wait for; where that fails, nothing has changed.
  NewValues step(const Rates& rates, std::vector<NamedParam> params, GradientsParams grads);
  /// Makes what step() gave, or begins to on a device that runs by itself: where the old values lay, if nobody holds these.
  void run(const NewValues& updates) const;
  /// `rate`, times what each group has.
  Rates rates(double rate) const;
  static void put(const nn::ModuleRef& model, const NewValues& updates);
  void put_averages(const nn::ModuleRef& model) const;
  void move_to(const Device& device);
  void remove(const std::string& path) { states_.erase(path); }

  const std::vector<ParamGroup>& groups() const { return groups_; }  // the first has the optimizer's own rule
  const ClipOptions& clip() const { return clip_; }
  const std::map<std::string, ParamState>& states() const { return states_; }

  /// Calls f(name, part) for each part of the state.
  template <class F>
  void visit(F&& f) {
    for (auto& [path, state] : states_) visit_part(rule_of(path), path, state, f);
  }
  template <class F>
  void visit(F&& f) const {
    for (const auto& [path, state] : states_) visit_part(rule_of(path), path, state, f);
  }

 private:
  template <class State, class F>
  static void visit_part(const AnyRule& rule, const std::string& path, State& state, F& f) {
    const auto names = rule.slot_names(), numbers = rule.number_names();
    for (std::size_t i = 0; i < state.slots.size(); ++i)
      if (!state.slots[i].empty()) f(text(path, '.', names[i]), state.slots[i]);
    if (state.master) f(text(path, ".master"), state.master);
    for (std::size_t i = 0; i < state.numbers.size(); ++i)
      visit_number(f, text(path, '.', numbers[i]), state.numbers[i]);
    f(text(path, ".steps"), state.steps);
  }

  /// By its name alone, of a parameter that the model did not have before.
  std::size_t group_for(const NamedParam& param) const;
  const AnyRule& rule_of(const std::string& path) const { return groups_[group_of_.at(path)].rule; }
  ParamState fresh(const NamedParam& param, std::size_t group) const;
  Value averaged(const NamedParam& param) const;

  std::vector<ParamGroup> groups_;
  ClipOptions clip_;
  std::map<std::string, ParamState> states_;
  std::map<std::string, std::size_t> group_of_;  // of each parameter that ever had a state
};

/// Throws AutodiffError where no parameter of the model can be trained.
std::vector<NamedParam> trained_params(std::string_view function, const nn::ModuleView& model);

template <class Rule>
class [[nodiscard("an optimizer does nothing until its step()")]] Optimizer {
 public:
  /// State for each parameter of `model` that is trained; frozen ones have none and stay as they are. Throws
  /// AutodiffError where the model was not made on an autodiff device, ArgumentError for options without meaning.
  Optimizer(const Rule& rule, const nn::ModuleView& model, OptimizerOptions options = {})
      : rule_(rule), state_(rule, std::move(options)) {
    state_.add(model);
  }

  /// One update with learning rate `rate`: the model with new leaves where `grads` has a gradient; the other parameters
  /// stay as they are. Runs what was asked for so far. Where that fails (an index out of range, no memory left) this
  /// throws, and the caller's model and the optimizer are as before, so that a program may go on with another batch.
  /// The update itself is then written over the old parameters and the old state, and needs no memory, if the model is
  /// moved in and nobody has a copy; a rule that takes more may find none: MemoryError, and only a checkpoint helps.
  template <class M>
  requires Module<M>
  [[nodiscard("step() changes no model: model = optimizer.step(rate, std::move(model), grads)")]] std::remove_cvref_t<M>
  step(double rate, M&& model, const GradientsParams& grads) {
    return step(state_.rates(rate), std::forward<M>(model), grads);
  }
  /// The same with a rate for each group (`rate` of the groups themselves does not count). Throws ArgumentError where
  /// there is another number of them.
  template <class M>
  requires Module<M>
  [[nodiscard("step() changes no model: model = optimizer.step(rate, std::move(model), grads)")]] std::remove_cvref_t<M>
  step(const Rates& rates, M&& model, const GradientsParams& grads) {
    const OptimizerState::NewValues updates = state_.step(rates, trained_params(groups()[0].rule.name(), model), grads);
    std::remove_cvref_t<M> result = std::forward<M>(model);
    OptimizerState::put(result, updates);
    state_.run(updates);
    return result;
  }

  /// The model as it is to be used or measured: that of the rule ScheduleFreeAdamW has the average of its parameters,
  /// that of any other rule is the model itself. Training goes on with the model that step() gave.
  template <Module M>
  [[nodiscard("averaged() changes no model: it returns one")]] M averaged(M model) const {
    state_.put_averages(model);
    return model;
  }

  /// Forgets a parameter's state; where it is updated again, it begins anew.
  void remove(const std::string& path) { state_.remove(path); }
  /// The optimizer with its tensors on `device`: to follow a model there.
  [[nodiscard("to_device() moves no optimizer: it returns one")]] Optimizer to_device(const Device& device) const {
    Optimizer moved = *this;
    moved.state_.move_to(device);
    return moved;
  }

  const Rule& config() const { return rule_; }
  /// The first has the optimizer's own rule.
  const std::vector<ParamGroup>& groups() const { return state_.groups(); }
  const ClipOptions& clip() const { return state_.clip(); }
  const std::map<std::string, ParamState>& states() const { return state_.states(); }

  /// Calls f(name, part) for what a record of the optimizer holds: the state's tensors, as Value& under names such as
  /// "conv1.weight.first_moment" and, of a half type's master, "conv1.weight.master", numbers as Value& of rank 0, and
  /// the numbers of steps, as std::int64_t& under "conv1.weight.steps". What f leaves there takes their place. The
  /// names and their meaning stay, so that later versions read what this one wrote.
  template <class F>
  void visit_state(F&& f) {
    state_.visit(f);
  }
  template <class F>
  void visit_state(F&& f) const {
    state_.visit(f);
  }

 private:
  Rule rule_;
  OptimizerState state_;
};

/// An optimizer of any rule: what a config makes, or a list of several holds.
using AnyOptimizer = Optimizer<AnyRule>;

}  // namespace kiln

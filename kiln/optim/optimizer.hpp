// The frame of every optimizer: it applies a rule to each parameter that has a gradient, and keeps the rules' states.
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
#include <type_traits>
#include <utility>

#include "kiln/nn/module/param_changes.hpp"
#include "kiln/nn/module/selector.hpp"
#include "kiln/optim/clip.hpp"
#include "kiln/optim/number.hpp"
#include "kiln/optim/part.hpp"
#include "kiln/optim/rule.hpp"

namespace kiln {

/// A parameter with its path.
struct NamedParam {
  std::string path;
  Value value;
};

/// Some of a model's parameters, with a rule of their own.
struct ParamGroup {
  Selector params;
  AnyRule rule;
  double rate = 1;  // factor of the step's rate
};

/// The options of every optimizer besides its rule. A parameter belongs to the first group that selects it.
struct OptimizerOptions {
  std::vector<ParamGroup> groups{};
  ClipOptions clip{};
};

/// A rate for each group: first that of the optimizer's own rule, then those of its groups, in order.
using Rates = std::vector<double>;

/// The part of an optimizer that is independent of the types of its model and its rule.
class OptimizerState {
 public:
  /// Throws ArgumentError for invalid options.
  OptimizerState(AnyRule rule, OptimizerOptions options);
  /// Assigns each of a model's parameters to its group, and creates the states of those that are trained. Throws
  /// AutodiffError if none can be trained, ArgumentError if a group selects none.
  void add(const nn::ModuleView& model);
  /// Updates those of the model's trained parameters that have a gradient. Runs the operations that the gradients depend
  /// on; if that fails, or memory runs out before anything is written, neither the model nor the state has changed. Then
  /// computes the new values, or starts to on an asynchronous device; they replace the old values in memory if nothing
  /// else uses these.
  void step(const Rates& rates, const nn::ModuleRef& model, const GradientsParams& grads);
  void step(double rate, const nn::ModuleRef& model, const GradientsParams& grads);
  /// `rate` times the rate of each group.
  Rates rates(double rate) const;
  void put_averages(const nn::ModuleRef& model) const;
  /// A parameter for inference: the value that averaged() of its rule gives. Throws ShapeError where the state belongs to a
  /// parameter of another shape.
  Value averaged(const NamedParam& param) const;
  /// Does a rule have an averaged()?
  bool averages() const;

  /// Must a parameter be updated as a whole, because its rule or the clipping looks at more than single elements?
  bool needs_whole(const std::string& path) const;
  /// From now on this is one of several ranks, and has the state of these parts of parameters alone. `zero` is a number
  /// on the device on which the ranks meet, of the type of the gradients' norm.
  void keep(const ParamParts& parts, const Ranks& among, const Value& zero);
  /// step() of this rank's parts, of which `grads` has the gradients. All ranks call it. Returns the new parts, and
  /// changes no model.
  std::map<std::string, Value> step_parts(const Rates& rates, const std::vector<NamedParam>& parts,
                                          const GradientsParams& grads);
  /// Replaces all states, and returns the previous ones.
  std::map<std::string, ParamState> exchange_states(std::map<std::string, ParamState> states) {
    return std::exchange(states_, std::move(states));
  }

  void move_to(const Device& device);
  void remove(const std::string& path) { states_.erase(path); }

  /// Do ranks share the state, so that it has the parts of one of them?
  bool is_shared() const { return among_ != nullptr; }
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

  /// Everything that a step changes, created before anything changes.
  struct Changes {
    std::map<std::string, Value> params;
    std::map<std::string, ParamState> states;
    std::map<std::string, std::size_t> groups;  // of the parameters that have a gradient
    Values computed;                            // the new values and states, for the device to compute
  };
  Changes changes(const Rates& rates, const std::vector<NamedParam>& params, GradientsParams grads) const;
  GradientsParams clipped(GradientsParams grads, const std::map<std::string, Value>& params) const;
  /// Changes the state; allocates nothing.
  void put(Changes& changes);
  void compute(const Values& values) const;
  void apply(const Rates& rates, const nn::ModuleRef& model, const GradientsParams& grads);

  /// The group of a parameter that is new in the model, by its name alone.
  std::size_t group_for(const std::string& path) const;
  /// Ranks that share the state know the group of the parameters that they have parts of alone.
  const AnyRule& rule_of(const std::string& path) const {
    const auto known = group_of_.find(path);
    return groups_[known != group_of_.end() ? known->second : group_for(path)].rule;
  }
  ParamState fresh(const NamedParam& param, std::size_t group) const;

  std::vector<ParamGroup> groups_;
  ClipOptions clip_;
  std::map<std::string, ParamState> states_;
  std::map<std::string, std::size_t> group_of_;  // the group of each parameter that ever had a state
  Ranks among_;                                  // null unless ranks share the state
  Value zero_;
};

/// Throws AutodiffError if no parameter of the model can be trained.
std::vector<NamedParam> trained_params(std::string_view function, const nn::ModuleView& model);

template <class Rule>
class [[nodiscard("an optimizer does nothing until its step()")]] Optimizer {
 public:
  /// Creates a state for each parameter of `model` that is trained; frozen ones have none and are not changed. Throws
  /// AutodiffError if the model is not on an autodiff device, ArgumentError for invalid options.
  Optimizer(const Rule& rule, const nn::ModuleView& model, OptimizerOptions options = {})
      : rule_(rule), state_(rule, std::move(options)) {
    state_.add(model);
  }

  /// One update with learning rate `rate`: returns the model with new leaves for parameters with a gradient in `grads`;
  /// the others are unchanged. Runs pending operations first. If that fails (an index out of range, no memory left)
  /// this throws, and the caller's model and the optimizer are unchanged, so that a program may go on with another
  /// batch. The update itself then overwrites the old parameters and the old state, and needs no memory for tensors, if
  /// the model is moved in and has no copies; a rule that needs more memory may find none: then it throws MemoryError,
  /// and training must be resumed from a checkpoint.
  template <class M>
  requires Module<M>
  [[nodiscard("step() changes no model: model = optimizer.step(rate, std::move(model), grads)")]] std::remove_cvref_t<M>
  step(double rate, M&& model, const GradientsParams& grads) {
    return updated(rate, std::forward<M>(model), grads);
  }
  /// Takes a step with a rate for each group (`rate` of the groups is ignored). Throws ArgumentError if their number
  /// differs.
  template <class M>
  requires Module<M>
  [[nodiscard("step() changes no model: model = optimizer.step(rate, std::move(model), grads)")]] std::remove_cvref_t<M>
  step(const Rates& rates, M&& model, const GradientsParams& grads) {
    return updated(rates, std::forward<M>(model), grads);
  }

  template <class R, class M, class G>
  requires(Module<M> && !std::convertible_to<const G&, const GradientsParams&>)
  std::remove_cvref_t<M> step(const R&, M&& model, const G&) {
    static_assert(std::is_void_v<G>,
                  "step() takes gradients: auto [loss, grads] = value_and_grad(model, loss_of); model = "
                  "optimizer.step(rate, std::move(model), grads)");
    return std::forward<M>(model);
  }
  template <class M>
  std::remove_cvref_t<M> step(M&& model, const GradientsParams&) {
    static_assert(std::is_void_v<M>,
                  "step() takes the rate first: model = optimizer.step(rate, std::move(model), grads)");
    return std::forward<M>(model);
  }

  /// The model for inference and evaluation: for ScheduleFreeAdamW the average of its parameters, for any other rule
  /// the model itself. Training continues with the model that step() returned. Throws ShapeError where the optimizer's
  /// state belongs to a model of other shapes.
  template <Module M>
  [[nodiscard("averaged() changes no model: it returns one")]] M averaged(M model) const {
    state_.put_averages(model);
    return model;
  }

  /// Forgets a parameter's state; if it is updated again, it gets a new one.
  void remove(const std::string& path) { state_.remove(path); }
  /// The optimizer with its tensors on `device`, for use with a model that was moved there.
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
  OptimizerState& untyped() { return state_; }

  /// Calls f(name, part) for the parts of a record of the optimizer: the state's tensors, as Value& with names such as
  /// "conv1.weight.first_moment" and, for the master of a half type, "conv1.weight.master"; numbers as Value& of rank
  /// 0; and the numbers of steps, as std::int64_t& with the name "conv1.weight.steps". f may replace them. The names
  /// and their meaning are stable, so that later versions can read records of this one.
  template <class F>
  void visit_state(F&& f) {
    state_.visit(f);
  }
  template <class F>
  void visit_state(F&& f) const {
    state_.visit(f);
  }

 private:
  template <class Rate, class M>
  std::remove_cvref_t<M> updated(const Rate& rate, M&& model, const GradientsParams& grads) {
    if constexpr (std::is_const_v<std::remove_reference_t<M>> || std::is_lvalue_reference_v<M>) {
      std::remove_cvref_t<M> copy = model;
      return updated(rate, std::move(copy), grads);
    } else {
      state_.step(rate, model, grads);
      return std::move(model);
    }
  }

  Rule rule_;
  OptimizerState state_;
};

/// An optimizer of any rule, as created from a config, or kept in a list.
using AnyOptimizer = Optimizer<AnyRule>;

}  // namespace kiln

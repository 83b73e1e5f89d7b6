// A rule computes a new parameter from one parameter and its gradient. The config of an optimizer is its rule, a plain
// struct of its options; kiln/optim/rules has one file per rule, and rules/all.hpp lists them.
#pragma once
#include <concepts>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "kiln/ops/functions.hpp"

namespace kiln {

/// The state that a rule keeps for one parameter: its number of updates, tensors, and numbers.
///
/// A parameter of a half type has a master, the same numbers in float32, which rules update in its place: most steps
/// are too small to change a half. The state's tensors are float32 then, too. The parameter is the rounded master; an
/// element that is not (weights were clipped, averaged or loaded since the last step) replaces its master.
struct ParamState {
  std::int64_t steps = 0;  // before the current update
  Values slots;            // one for each of the rule's names; empty if the rule needs none for this parameter
  std::vector<double> numbers;
  Value master;  // empty for a float32 or float64 parameter
};

/// The requirements of a rule. `update` returns the new parameter and updates the state; it reads no values, so that
/// all parameters are updated in one pass. `check` throws ArgumentError for invalid options.
///
/// A rule may also have
///   Values fresh_slots(const Value& param) const;       // initial slots, by default zeros of the parameter's shape;
///                                                       // throws ArgumentError for a parameter that does not fit
///   static constexpr std::string_view kNumbers[];       // names of numbers in the state, initially 0
///   Value averaged(const Value& param, const ParamState& state) const;  // the parameter for inference
///   bool elementwise() const;  // true if slots have the parameter's shape or are empty, and an element of the results
///                              // depends on the same element of the operands alone: then ranks that shard an
///                              // optimizer's state may each update a part of a parameter; by default false
template <class R>
concept UpdateRule = requires(const R& rule, const Value& value, double rate, ParamState& state) {
  { R::kName } -> std::convertible_to<std::string_view>;
  { rule.slot_names() } -> std::convertible_to<std::span<const std::string_view>>;
  { rule.update(value, value, rate, state) } -> std::same_as<Value>;
  rule.check();
};

/// Any rule. Copies share it.
class AnyRule {
 public:
  template <UpdateRule R>
  AnyRule(R rule) : held_(std::make_shared<Holder<R>>(std::move(rule))) {}

  std::string_view name() const { return held_->name(); }
  std::span<const std::string_view> slot_names() const { return held_->slot_names(); }
  std::span<const std::string_view> number_names() const { return held_->number_names(); }
  Values fresh_slots(const Value& param) const { return held_->fresh_slots(param); }
  Value update(const Value& param, const Value& grad, double rate, ParamState& state) const {
    return held_->update(param, grad, rate, state);
  }
  Value averaged(const Value& param, const ParamState& state) const { return held_->averaged(param, state); }
  void check() const { held_->check(); }
  bool elementwise() const { return held_->elementwise(); }
  /// Does averaged() differ from the parameter?
  bool averages() const { return held_->averages(); }

  /// Null if it is another rule.
  template <UpdateRule R>
  const R* as() const {
    return held_->type() == &kType<R> ? &static_cast<const Holder<R>&>(*held_).rule : nullptr;
  }

 private:
  template <class R> static constexpr char kType = 0;

  struct HeldState {
    virtual ~HeldState() = default;
    virtual const void* type() const = 0;
    virtual std::string_view name() const = 0;
    virtual std::span<const std::string_view> slot_names() const = 0;
    virtual std::span<const std::string_view> number_names() const = 0;
    virtual Values fresh_slots(const Value& param) const = 0;
    virtual Value update(const Value& param, const Value& grad, double rate, ParamState& state) const = 0;
    virtual Value averaged(const Value& param, const ParamState& state) const = 0;
    virtual void check() const = 0;
    virtual bool elementwise() const = 0;
    virtual bool averages() const = 0;
  };
  template <class R>
  struct Holder final : HeldState {
    explicit Holder(R r) : rule(std::move(r)) {}
    const void* type() const override { return &kType<R>; }
    std::string_view name() const override { return R::kName; }
    std::span<const std::string_view> slot_names() const override { return rule.slot_names(); }
    std::span<const std::string_view> number_names() const override {
      if constexpr (requires { R::kNumbers; }) return R::kNumbers;
      else return {};
    }
    Values fresh_slots(const Value& param) const override {
      if constexpr (requires { rule.fresh_slots(param); }) return rule.fresh_slots(param);
      else return zeros_for(param, slot_names().size());
    }
    Value update(const Value& param, const Value& grad, double rate, ParamState& state) const override {
      return rule.update(param, grad, rate, state);
    }
    Value averaged(const Value& param, const ParamState& state) const override {
      if constexpr (requires { rule.averaged(param, state); }) return rule.averaged(param, state);
      else return param;
    }
    void check() const override { rule.check(); }
    bool elementwise() const override {
      if constexpr (requires { rule.elementwise(); }) return rule.elementwise();
      else return false;
    }
    bool averages() const override {
      return requires(const Value& param, const ParamState& state) { rule.averaged(param, state); };
    }
    R rule;
  };
  static Values zeros_for(const Value& param, std::size_t count);

  std::shared_ptr<const HeldState> held_;
};

/// The initial state of `rule` for a parameter, with a master if it needs one.
ParamState fresh_state(const AnyRule& rule, const Value& param);
/// One update by `rule`, of the master if there is one. `grad` is cast to the type that is updated.
Value updated(const AnyRule& rule, const Value& param, const Value& grad, double rate, ParamState& state);

namespace rules {

/// Throws ArgumentError, with the rule's `name`, unless each share is in [0, 1); each number is finite and not
/// negative; or each number is positive, such as what is added to a divisor that may be 0.
struct Option {
  std::string_view name;
  double value;
};
void require_shares(std::string_view rule, std::initializer_list<Option> options);
void require_not_negative(std::string_view rule, std::initializer_list<Option> options);
void require_positive(std::string_view rule, std::initializer_list<Option> options);

/// old * share + fresh * (1 - share)
Value moving_average(const Value& old, const Value& fresh, double share);
/// The Euclidean norm of all elements, and the root of their mean square.
Value norm(const Value& x);
Value root_mean_square(const Value& x);
/// A parameter as a matrix [out, the rest]. Throws ArgumentError, with the name of `rule`, below two dimensions.
Value as_matrix(std::string_view rule, const Value& x);

}  // namespace rules
}  // namespace kiln

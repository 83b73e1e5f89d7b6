// A rule: how one parameter and its gradient become a new parameter. The config of an optimizer is its rule, a plain
// struct of its options; kiln/optim/rules has one file for each, rules.hpp their list.
#pragma once
#include <concepts>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "kiln/ops/functions.hpp"

namespace kiln {

/// What a rule remembers of one parameter: how often it was updated, tensors, and numbers.
///
/// A parameter of a half type has a master, the same numbers in float32, which rules update in its place: most steps
/// are too small to change a half. Its tensors are float32 too. The parameter is its master, rounded; an element that
/// is not (weights were clipped, averaged or loaded since the last step) is its own master from then on.
struct ParamState {
  std::int64_t steps = 0;  // before the update under way
  Values slots;            // one for each of the rule's names; empty where the rule wants none of this parameter
  std::vector<double> numbers;
  Value master;  // empty of a float32 or float64 parameter
};

/// What a rule must have. `update` gives the new parameter and leaves what it remembers in the state; it reads nothing,
/// so that all parameters are updated in one go. `check` throws ArgumentError for options without meaning.
///
/// A rule may also have
///   Values fresh_slots(const Value& param) const;       // if not zeros of the parameter's shape for each name; throws
///                                                       // ArgumentError for a parameter that it is not made for
///   static constexpr std::string_view kNumbers[];       // names of numbers that it keeps, 0 at first
///   Value averaged(const Value& param, const ParamState& state) const;  // what to use the model with
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

  /// Null where it is another.
  template <UpdateRule R>
  const R* as() const {
    return held_->type() == &kType<R> ? &static_cast<const Holder<R>&>(*held_).rule : nullptr;
  }

 private:
  template <class R> static constexpr char kType = 0;

  struct Held {
    virtual ~Held() = default;
    virtual const void* type() const = 0;
    virtual std::string_view name() const = 0;
    virtual std::span<const std::string_view> slot_names() const = 0;
    virtual std::span<const std::string_view> number_names() const = 0;
    virtual Values fresh_slots(const Value& param) const = 0;
    virtual Value update(const Value& param, const Value& grad, double rate, ParamState& state) const = 0;
    virtual Value averaged(const Value& param, const ParamState& state) const = 0;
    virtual void check() const = 0;
  };
  template <class R>
  struct Holder final : Held {
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
    R rule;
  };
  static Values zeros_for(const Value& param, std::size_t count);

  std::shared_ptr<const Held> held_;
};

/// What `rule` has of a parameter at first, and a master where there has to be one.
ParamState fresh_state(const AnyRule& rule, const Value& param);
/// One update by `rule`, of the master where there is one. `grad` is cast to what is updated.
Value updated(const AnyRule& rule, const Value& param, const Value& grad, double rate, ParamState& state);

namespace rules {

/// Throw ArgumentError, a sentence about the config of the rule `name`, unless each share lies in [0, 1), each number
/// is finite and not negative; or positive, as what is added to a divisor that may be 0.
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
/// A parameter as a matrix [out, everything else]. Throws ArgumentError, in the name of `rule`, below two dimensions.
Value as_matrix(std::string_view rule, const Value& x);

}  // namespace rules
}  // namespace kiln

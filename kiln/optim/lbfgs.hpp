// L-BFGS: for small models and full batches. It evaluates the loss several times per step, so it is not a rule.
//
//   Lbfgs lbfgs = LbfgsConfig{}.init(model);
//   auto [next, loss] = lbfgs.step(1.0, model, [&](const Model& m) { return m.loss(batch); });
#pragma once
#include <string>
#include <utility>

#include "kiln/core/function_ref.hpp"
#include "kiln/optim/number.hpp"
#include "kiln/optim/optimizer.hpp"

namespace kiln {

class Lbfgs;

/// Nocedal, Wright, "Numerical optimization", 2006: algorithm 7.5, with the line search of algorithms 3.5 and 3.6
/// (StrongWolfe) or steps of the rate (None); bounds, first step and tolerances as in PyTorch's LBFGS. The direction is
/// computed from the last `history` differences; a step() has at most `iterations` iterations and `evaluations`
/// evaluations of the loss.
struct LbfgsConfig {
  enum class LineSearch : std::uint8_t { None, StrongWolfe };
  std::int64_t history = 10, iterations = 20, evaluations = 25;
  double gradient_tolerance = 1e-7, change_tolerance = 1e-9;
  LineSearch line_search = LineSearch::StrongWolfe;

  void check() const;  // throws ArgumentError for invalid options
  Lbfgs init(const nn::ModuleView& model) const;
};

template <class M>
struct [[nodiscard("step() changes no model: it returns one")]] LbfgsStep {
  M model;
  double loss;  // the model's loss before the step
};

class Lbfgs {
 public:
  Lbfgs(const LbfgsConfig& config, const std::vector<NamedParam>& params);

  /// Minimises loss(model), a Tensor<0>, by some iterations. All of the model's trained parameters form one vector, in
  /// float32, or float64 if one of them is. `rate` is the length of a step along the direction, or the start of the
  /// line search. If the loss is NaN or infinite the model is unchanged; running statistics are not updated. Throws
  /// what the loss throws; then nothing has changed.
  template <Module M, class F>
  LbfgsStep<M> step(double rate, const M& model, F&& loss) {
    const auto with = [&](const Values& values) {
      M changed = model;
      std::size_t next = 0;
      visit_params(changed, [&](const nn::PartPath&, nn::AnyLeaf& param) {
        if (!param.is_frozen()) param.set(values[next++]);
      });
      return changed;
    };
    const auto evaluate = [&](const Values& values) {
      auto [found, grads] = value_and_grad(with(values), loss);
      return std::pair(found.value().item(), std::move(grads));
    };
    const double before = minimise(rate, trained_params("Lbfgs", model), evaluate);
    return {with(values_), before};
  }

  const LbfgsConfig& config() const { return config_; }

  /// Calls f(name, part) for the parts of a record: vectors as Value&, as many as the history can have; numbers as
  /// Value& of rank 0; counts as std::int64_t&.
  template <class F>
  void visit_state(F&& f) {
    visit_part(*this, f);
  }
  template <class F>
  void visit_state(F&& f) const {
    visit_part(*this, f);
  }

 private:
  using Evaluate = FunctionRef<std::pair<double, GradientsParams>(const Values&)>;
  struct Point {
    double loss;
    Value grad;        // gradients of all parameters in one vector
    double slope = 0;  // along the direction
    double length = 0;
  };
  /// The state between steps. The history begins with the oldest entry.
  struct State {
    std::int64_t iterations = 0, known = 0;
    Values changes, steps;  // differences of gradients, and of parameters
    Value direction, grad;
    double length = 0, scale = 1;
    Value masters;  // the parameters in one vector, before they were rounded to halves; empty if there are no halves
  };

  double minimise(double rate, const std::vector<NamedParam>& params, Evaluate evaluate);
  Values parts(const Value& flat, const std::vector<NamedParam>& params) const;
  Value flat(const std::vector<NamedParam>& params) const;
  Value flat(const GradientsParams& grads, const std::vector<NamedParam>& params) const;
  void append_to_history(State& state, const Value& grad) const;
  static Value direction(const State& state, const Value& grad);
  template <class At>
  Point search(At&& at, const Point& start, double length, double longest, std::int64_t most) const;

  template <class Self, class F>
  static void visit_part(Self& self, F& f) {
    const auto vector = [&](const std::string& name, auto& value) {
      Value held = value.empty() ? zeros({self.size_}, self.device_, self.dtype_) : value;
      f(name, held);
      if constexpr (!std::is_const_v<std::remove_reference_t<decltype(value)>>) value = held;
    };
    auto& state = self.state_;
    f(std::string("iterations"), state.iterations);
    f(std::string("known"), state.known);
    for (std::size_t i = 0; i < state.steps.size(); ++i) {
      vector(text("changes.", i), state.changes[i]);
      vector(text("steps.", i), state.steps[i]);
    }
    vector("direction", state.direction);
    vector("gradient", state.grad);
    if (self.halves_) vector("masters", state.masters);
    visit_number(f, "length", state.length);
    visit_number(f, "scale", state.scale);
  }

  LbfgsConfig config_;
  State state_;
  Values values_;  // values of the parameters after the last step
  std::int64_t size_ = 0;
  DType dtype_ = DType::F32;
  Device device_;
  bool halves_ = false;
};

}  // namespace kiln

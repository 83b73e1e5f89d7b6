// The arguments and the result of a step, read from its type, and whether model, optimizer, step and data fit together. Templates that
// take them say in a static_assert what does not, and go on with types that fit, so that the sentence is all that the compiler prints.
#pragma once
#include <concepts>
#include <iterator>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "kiln/data/batcher.hpp"
#include "kiln/nn/gradients.hpp"

namespace kiln {

struct StepContext;

namespace training {

template <class R, class... Args>
struct Signature {
  static constexpr bool kHasTypes = true;
  static constexpr std::size_t kArguments = sizeof...(Args);
  static constexpr bool kByHand = kArguments == 4;
  using Output = std::remove_cvref_t<R>;
  using BatchArg = std::tuple_element_t<kArguments, std::tuple<NoBatch, Args...>>;  // the last one
  using Batch = std::remove_cvref_t<BatchArg>;
};

/// A function object without one operator() whose parameters have types, such as a lambda with `auto`, has no signature.
template <class F>
struct SignatureOf : Signature<void> {
  static constexpr bool kHasTypes = false;
};
template <class F>
requires requires { &F::operator(); } struct SignatureOf<F> : SignatureOf<decltype(&F::operator())> {};
template <class R, class C, class... Args>
struct SignatureOf<R (C::*)(Args...) const> : Signature<R, Args...> {};
template <class R, class C, class... Args>
struct SignatureOf<R (C::*)(Args...)> : Signature<R, Args...> {};
template <class R, class C, class... Args>
struct SignatureOf<R (C::*)(Args...) const noexcept> : Signature<R, Args...> {};
template <class R, class C, class... Args>
struct SignatureOf<R (C::*)(Args...) noexcept> : Signature<R, Args...> {};
template <class R, class... Args>
struct SignatureOf<R (*)(Args...)> : Signature<R, Args...> {};
template <class R, class... Args>
struct SignatureOf<R (*)(Args...) noexcept> : Signature<R, Args...> {};

/// A batch as call_step() passes it to F.
template <class F>
using PassedBatch = std::conditional_t<std::is_lvalue_reference_v<typename SignatureOf<F>::BatchArg>,
                                       typename SignatureOf<F>::Batch&, typename SignatureOf<F>::Batch>;

/// F is (const M&, Batch) -> anything.
template <class F, class M>
concept TakesModelAndBatch = SignatureOf<F>::kArguments == 2 && std::invocable<F&, const M&, PassedBatch<F>>;
/// F is (M&, O&, const StepContext&, Batch) -> anything.
template <class F, class M, class O>
concept TakesOptimizer = SignatureOf<F>::kByHand && std::invocable<F&, M&, O&, const StepContext&, PassedBatch<F>>;

/// A Tensor<0>, or a struct that has one as its `loss`.
template <class Output>
concept HasLoss = std::same_as<Output, Tensor<0>> || requires(const Output& output) {
  { output.loss } -> std::convertible_to<Tensor<0>>;
};

/// O takes steps of models M.
template <class O, class M>
concept Optimizes = requires(O& optimizer, M model, const GradientsParams& grads, const std::vector<double>& rates) {
  { optimizer.step(1.0, std::move(model), grads) } -> std::convertible_to<M>;
  { optimizer.step(rates, std::move(model), grads) } -> std::convertible_to<M>;
};

template <class Element, class Batch>
inline constexpr bool kIsBatch = std::is_const_v<std::remove_reference_t<Element>>
                                     ? std::is_convertible_v<Element, Batch>
                                     : std::is_convertible_v<std::remove_reference_t<Element>&, Batch&>;
/// A loader or a container of batches. That of a DataLoader whose batcher is wrong has been named by the DataLoader.
template <class Data, class Batch>
concept GivesBatches = requires(Data& data) {
  data.size();
  requires kIsBatch<decltype(*std::begin(data)), Batch> || kIsBatch<decltype(*std::begin(data)), NoBatch>;
};

/// These stand for a model, an optimizer and a step that do not fit.
struct NoModel {};
struct NoOptimizer {
  template <class Rates, class M>
  M step(const Rates&, M model, const GradientsParams&) const {
    return model;
  }
};
template <class M, class Batch>
struct NoStep {
  Tensor<0> operator()(const M&, const Batch&) const { return {}; }
};

/// Says whether the three parts of a Learner fit together, and has parts that do. Only the first that does not fit is false.
template <class Model, class Optimizer, class Step>
struct Parts {
  using Written = SignatureOf<Step>;
  static constexpr bool kModelFits = Module<Model>;
  static constexpr bool kStepHasTypes = !kModelFits || Written::kHasTypes;
  static constexpr bool kStepTakesThem =
      !kModelFits || !kStepHasTypes || TakesModelAndBatch<Step, Model> || TakesOptimizer<Step, Model, Optimizer>;
  static constexpr bool kStepHasLoss =
      !kModelFits || !kStepHasTypes || !kStepTakesThem || HasLoss<typename Written::Output>;
  static constexpr bool kOptimizerFits = !kModelFits || Written::kByHand || Optimizes<Optimizer, Model>;
  static constexpr bool kStepFits = kModelFits && kStepHasTypes && kStepTakesThem && kStepHasLoss;
  static constexpr bool kFit = kStepFits && kOptimizerFits;

  using M = std::conditional_t<kModelFits, Model, NoModel>;
  using O = std::conditional_t<Optimizes<Optimizer, M> || (kStepFits && Written::kByHand), Optimizer, NoOptimizer>;
  using F = std::conditional_t<kStepFits, Step, NoStep<M, typename Written::Batch>>;
};
/// The part, or what stands for it in a program that does not compile.
template <class Part, class Given>
Part part(Given& given) {
  if constexpr (std::same_as<Part, Given>) return std::move(given);
  else return {};
}

}  // namespace training
}  // namespace kiln

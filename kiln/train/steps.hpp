// What a function that is a step of training or of validation takes and gives.
#pragma once
#include <concepts>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "kiln/nn/module.hpp"
#include "kiln/ops/scope/no_grad.hpp"
#include "kiln/train/metric_set.hpp"
#include "kiln/train/run.hpp"

namespace kiln {

/// What a step that is written by hand may ask for.
struct StepContext {
  const std::vector<double>& rates;  // one, or one for each group of the optimizer
  const training::Position& at;
  double rate() const { return rates[0]; }
};

namespace training {

template <class R, class... Args>
struct Signature {
  using Output = std::remove_cvref_t<R>;
  template <std::size_t I>
  using Arg = std::tuple_element_t<I, std::tuple<Args...>>;
  using BatchArg = Arg<sizeof...(Args) - 1>;
  using Batch = std::remove_cvref_t<BatchArg>;
  using Model = std::remove_cvref_t<Arg<0>>;
  static constexpr bool kByHand = sizeof...(Args) == 4;
  static_assert(sizeof...(Args) == 2 || kByHand,
                "a step takes (const Model&, Batch), or by hand (Model&, Optimizer&, const StepContext&, Batch)");
};

template <class F>
struct SignatureOf : SignatureOf<decltype(&F::operator())> {};
template <class R, class C, class... Args>
struct SignatureOf<R (C::*)(Args...) const> : Signature<R, Args...> {};
template <class R, class C, class... Args>
struct SignatureOf<R (C::*)(Args...)> : Signature<R, Args...> {};
template <class R, class... Args>
struct SignatureOf<R (*)(Args...)> : Signature<R, Args...> {};

template <class Output>
Tensor<0> loss_of(const Output& output) {
  if constexpr (std::same_as<Output, Tensor<0>>) return output;
  else return output.loss;
}

/// Whether the data go on from where they are told to, and make each batch anew: a DataLoader, not a vector of batches.
template <class Data>
concept LoaderLike = requires(Data& data) { data.set_epoch(std::int64_t{0}, std::int64_t{0}); };

/// A batch as a step takes it: what a loader made is moved where the step takes it by value, anything else copied.
template <class BatchArg, class Data, class Batch>
decltype(auto) handed_over(Batch& batch) {
  if constexpr (LoaderLike<Data> && !std::is_reference_v<BatchArg>) return std::move(batch);
  else return static_cast<BatchArg>(batch);
}

/// Measures a model: calls step(model, batch) for each batch, where nothing can record gradients.
template <Module M, class Step, class Loader>
void measure(const M& model, Step& step, Loader& loader, MetricSet<typename SignatureOf<Step>::Output>& metrics) {
  const NoGrad pause;
  metrics.clear();
  if constexpr (LoaderLike<Loader>) loader.set_epoch(0);  // the same batches each time
  for (auto&& batch : loader) {
    const auto output = step(model, handed_over<typename SignatureOf<Step>::BatchArg, Loader>(batch));
    metrics.update(output, static_cast<double>(loss_of(output).item()));
  }
}

}  // namespace training
}  // namespace kiln

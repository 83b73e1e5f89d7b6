// The arguments and results of a step function for training or validation.
#pragma once
#include <concepts>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "kiln/data/stream/place.hpp"
#include "kiln/nn/module.hpp"
#include "kiln/train/metric_set.hpp"
#include "kiln/train/ranks/team.hpp"
#include "kiln/train/run.hpp"
#include "kiln/train/signature.hpp"

namespace kiln {

/// The context of a step that is written by hand.
struct StepContext {
  const std::vector<double>& rates;  // one, or one for each group of the optimizer
  const training::Position& at;
  const training::Team& team;
  double rate() const { return rates[0]; }
  /// The gradients of the ranks' batches together, where this rank's has `items` items; with one rank, these gradients.
  GradientsParams mean(GradientsParams grads, std::int64_t items, const nn::ModuleView& model) const {
    return team.mean(std::move(grads), items, model);
  }
  /// kiln::value_and_grad() of this rank's part of a batch, with the gradients of the whole batch: faster than mean(),
  /// since ranks combine gradients while they compute the others.
  template <Module M, class F>
  ValueAndGrad<Tensor<0>> value_and_grad(const M& model, std::int64_t items, F&& f) const {
    return team.value_and_grad(model, items, f);
  }
};

namespace training {

template <class Output>
Tensor<0> loss_of(const Output& output) {
  if constexpr (std::same_as<Output, Tensor<0>>) return output;
  else return output.loss;
}

/// Data of any type behind functions, so that the loop is compiled once: a DataLoader or a StreamLoader, or a container
/// of batches. Batches are passed by address.
struct Batches {
  std::function<std::int64_t(std::int64_t epoch)> size;  // batches per epoch
  /// Calls f(batch, may the batch be moved from?) for the batches of an epoch from `first` on, until it returns false.
  std::function<void(std::int64_t epoch, std::int64_t first, FunctionRef<bool(void* batch, bool owned)> f)> each;
  /// The place in a StreamLoader; null for other data.
  std::function<const StreamPlace&()> place{};
  std::function<void(StreamPlace)> restore{};
  std::function<Json()> description{};  // for a loader; otherwise null
};

template <class Batch, class Data>
Batches batches_of(Data& data) {
  constexpr bool kLoader = requires { data.set_epoch(0, 0); };
  Batches batches{[&data](std::int64_t epoch) {
                    if constexpr (kLoader) data.set_epoch(epoch);
                    return static_cast<std::int64_t>(data.size());
                  },
                  [&data](std::int64_t epoch, std::int64_t first, FunctionRef<bool(void*, bool)> f) {
                    if constexpr (kLoader) data.set_epoch(epoch, std::exchange(first, 0));
                    for (auto&& batch : data) {
                      if (first-- > 0) continue;
                      if constexpr (std::is_const_v<std::remove_reference_t<decltype(batch)>>) {
                        Batch copy = batch;
                        if (!f(&copy, true)) return;
                      } else {
                        Batch& given = batch;
                        if (!f(&given, kLoader)) return;
                      }
                    }
                  }};
  if constexpr (requires { data.place(); }) {
    batches.place = [&data]() -> const StreamPlace& { return data.place(); };
    batches.restore = [&data](StreamPlace place) { data.restore(std::move(place)); };
  }
  if constexpr (requires { data.description(); }) batches.description = [&data] { return data.description(); };
  return batches;
}

/// The first `count` batches of each epoch.
Batches first_of(Batches all, std::int64_t count);

/// Releases the graph of a tensor that only metrics will read: it holds all activations, which would be kept until the
/// step is over.
template <class Output>
void forget_graph(Output& output) {
  const auto forget = [](auto& tensor) {
    if constexpr (requires { tensor = tensor.detach(); }) tensor = tensor.detach();
  };
  forget(output);
  if constexpr (requires { output.loss; }) forget(output.loss);
  if constexpr (requires { output.scores; }) forget(output.scores);
  if constexpr (requires { output.predictions; }) forget(output.predictions);
}

/// An output whose fields are tensors and numbers alone can be copied to the host, tensor by tensor.
template <class T> inline constexpr bool kIsTensor = false;
template <int D, class Kind> inline constexpr bool kIsTensor<Tensor<D, Kind>> = true;
template <class Output>
constexpr bool has_only_tensors() {
  if constexpr (kIsTensor<Output> || std::is_arithmetic_v<Output>) return true;
  else if constexpr (!reflect::Aggregate<Output>) return false;
  else
    return []<std::size_t... I>(std::index_sequence<I...>) {
      return (has_only_tensors<reflect::FieldType<Output, I>>() && ...);
    }(std::make_index_sequence<reflect::field_count<Output>>());
}
template <class Output, class F>
void for_each_tensor(Output& output, F&& f) {
  if constexpr (kIsTensor<std::remove_const_t<Output>>) f(output);
  else if constexpr (reflect::Aggregate<std::remove_const_t<Output>>)
    std::apply([&](auto&... fields) { (for_each_tensor(fields, f), ...); }, reflect::fields(output));
}

/// What can be done with an output of any type. Tensors that the step left empty do not count.
struct OutputType {
  Values (*tensors)(const void* output);
  /// Returns that output with these elements, on the processor.
  std::shared_ptr<const void> (*with)(const void* output, std::span<const TensorData> tensors);
};
/// Null for an output that may have tensors elsewhere.
template <class Output>
const OutputType* output_type() {
  if constexpr (has_only_tensors<Output>()) {
    static constexpr OutputType type{
        [](const void* output) {
          Values all;
          for_each_tensor(*static_cast<const Output*>(output), [&](const auto& x) {
            if (!x.empty()) all.push_back(x.value());
          });
          return all;
        },
        [](const void* output, std::span<const TensorData> tensors) -> std::shared_ptr<const void> {
          const auto copy = std::make_shared<Output>(*static_cast<const Output*>(output));
          auto next = tensors.begin();
          for_each_tensor(*copy, [&]<class T>(T& x) {
            if (!x.empty()) x = T(Typed{kiln::from_data(*next++, Device::cpu())});
          });
          return copy;
        }};
    return &type;
  } else {
    return nullptr;
  }
}

/// The result of a step: its loss, its number of items, and the whole output, for metrics.
struct Outcome {
  std::optional<Tensor<0>> loss{};
  std::int64_t items = 0;
  std::shared_ptr<const void> output{};
  const OutputType* type = nullptr;
};

/// An outcome that is on its way to the host.
class AwaitedOutcome {
 public:
  /// Empty where the outcome is there already or large, unless others have been `awaited`, and where the metrics take no copy of
  /// it: then it is read as usual. Throws the errors of the loss that are known.
  static std::optional<AwaitedOutcome> of(const Outcome& outcome, const MetricList& metrics, bool awaited);

  bool is_there() const { return reading_->ready(); }
  /// Waits. Throws the device's errors.
  void wait();
  double loss() const { return loss_; }
  std::int64_t items() const { return outcome_.items; }
  /// After wait().
  void add_to(MetricList& metrics) const;

 private:
  AwaitedOutcome(Outcome outcome, Ref<PendingRead> reading)
      : outcome_(std::move(outcome)), reading_(std::move(reading)) {}

  Outcome outcome_;  // without an output where there are no metrics
  Ref<PendingRead> reading_;
  double loss_ = 0;
};

/// Calls step(first..., batch), where the batch is taken by value, by reference, or by rvalue reference.
template <class F, class... First>
Outcome call_step(F& step, void* batch, bool owned, First&... first) {
  using Batch = typename SignatureOf<F>::Batch;
  Batch& given = *static_cast<Batch*>(batch);
  const auto called = [&]() -> decltype(auto) {
    if constexpr (std::is_lvalue_reference_v<typename SignatureOf<F>::BatchArg>) return step(first..., given);
    else return step(first..., owned ? std::move(given) : Batch(given));
  };
  const auto output = std::make_shared<typename SignatureOf<F>::Output>(called());
  Outcome outcome{loss_of(*output), items_of(*output), output, output_type<typename SignatureOf<F>::Output>()};
  forget_graph(*output);
  return outcome;
}

/// Measures a model: calls `step` for each batch, without recording gradients.
void measure(FunctionRef<Outcome(void* batch, bool owned)> step, const Batches& data, MetricList& metrics);

}  // namespace training
}  // namespace kiln

// Measures a model on data other than its training data:
//
//   Evaluator evaluator(learner.result(), step);
//   evaluator.metric(metric::Accuracy{});
//   for (const Reading& reading : evaluator.measure("easy", easy_loader).readings) ...
#pragma once
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "kiln/train/steps.hpp"
#include "kiln/train/still.hpp"

namespace kiln {

template <Module M, class F>
class Evaluator {
  using Output = typename training::SignatureOf<F>::Output;
  static constexpr bool kTakesThem = training::TakesModelAndBatch<F, M>, kFit = kTakesThem && training::HasLoss<Output>;
  static_assert(kTakesThem,
                "Evaluator: the step takes (const Model&, Batch) with the type of the model and without auto");
  static_assert(!kTakesThem || kFit,
                "Evaluator: the step returns its loss, a Tensor<0>, or a struct with a field `loss` that is one");

 public:
  using Batch = typename training::SignatureOf<F>::Batch;

  /// With several ranks, each measures its part of the data; only the first has callbacks.
  Evaluator(M model, F step, Ranks ranks = alone())
      : team_(std::move(ranks)), model_(still(std::move(model))), step_(std::move(step)) {}

  template <Metric T>
  Evaluator& metric(T metric, const std::string& name = metric::name_of<T>()) {
    metrics_.add<Output>(std::move(metric), name, metric::feed<T, Output>);
    return *this;
  }
  /// Adds a listener for evaluations, like a callback of a Learner.
  template <class Callback>
  Evaluator& add(Callback callback) {
    static_assert(training::kIsCallback<Callback> || training::kIsCallbackWith<Callback, M>,
                  "a callback has an on(event) for some event of kiln/train/events.hpp");
    listeners_.push_back([this, callback = std::move(callback)](const training::Event& event) mutable {
      training::notify(callback, event, control_);
      training::notify_with(callback, event, model_);
    });
    return *this;
  }

  /// The loss and the metrics over a whole data set, which is called `name`.
  template <class Data>
  training::Evaluation measure(const std::string& name, Data&& data) {
    constexpr bool kGives = training::GivesBatches<Data, Batch>;
    static_assert(!kFit || kGives,
                  "Evaluator: the data are no loader or container of batches of the type that the step takes");
    if constexpr (kFit && kGives)
      training::measure([this](void* batch, bool owned) { return training::call_step(step_, batch, owned, model_); },
                        training::batches_of<Batch>(data), metrics_);
    training::Evaluation evaluation{{}, name, team_.readings(metrics_)};
    for (const auto& listener : listeners_)
      if (team_.leads()) listener(evaluation);
    return evaluation;
  }

 private:
  training::Team team_;
  const M model_;
  F step_;
  MetricList metrics_;
  std::vector<std::function<void(const training::Event&)>> listeners_;
  Interrupter control_;
};

}  // namespace kiln

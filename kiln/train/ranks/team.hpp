// Training on several ranks: what they exchange, so that together they do what a single one would with all data. With a
// single rank this costs nothing.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "kiln/data/stream/place.hpp"
#include "kiln/nn/gradients.hpp"
#include "kiln/ops/collective/communicator.hpp"
#include "kiln/train/metric_set.hpp"
#include "kiln/train/ranks/buckets.hpp"
#include "kiln/train/ranks/shards.hpp"
#include "kiln/train/run.hpp"

namespace kiln::training {

class Team {
 public:
  /// Throws ArgumentError without ranks.
  explicit Team(Ranks ranks = alone(), Sharding sharding = Sharding::None);

  bool several() const { return ranks_->size() > 1; }
  /// Rank 0 writes checkpoints, and has all callbacks.
  bool leads() const { return ranks_->rank() == 0; }
  int rank() const { return ranks_->rank(); }
  /// What is shared; nothing for a single rank.
  Sharding sharding() const { return several() ? sharding_ : Sharding::None; }
  /// This rank's part of the optimizer's state; from now on buckets() have the slices of these parts.
  std::unique_ptr<Shards> shard(OptimizerState& state, const nn::ModuleView& model);

  /// Throws ConfigError on all ranks if their training differs, with the first difference between two. `metrics` are
  /// those of training and of validation, null if there are none.
  void require_same(const nn::ModuleView& model, std::string_view optimizer, const LearnerConfig& config,
                    std::initializer_list<const MetricList*> metrics) const;
  /// Throws DataError on all ranks if their weights differ.
  void require_same_weights(const nn::ModuleView& model) const;
  /// Copies the objects from rank 0 to the others.
  void share(RecordedObjects& objects) const;
  /// Copies the buffers of a model, which depend on each rank's data, from rank 0.
  void share_buffers(const nn::ModuleRef& model) const;

  /// The largest number of all ranks.
  std::int64_t most(std::int64_t number) const;
  /// Is something true on all ranks?
  bool everywhere(bool here) const { return most(here ? 0 : 1) == 0; }
  /// The mean number of items per rank, and the weight of this rank's mean relative to it: the loss is multiplied by it
  /// before it is differentiated, since gradients may go through other ranks.
  struct BatchShare {
    double mean_items = 0, weight = 1;
  };
  BatchShare part(std::int64_t items) const;
  /// The loss of a batch that is distributed over the ranks, and its items.
  struct Batch {
    double loss = 0;
    std::int64_t items = 0;
  };
  Batch total(double loss, std::int64_t items) const;

  /// The buckets of the gradients of this step, which all ranks combine.
  Buckets buckets(Combine how, const nn::ModuleView& model, Buckets::Halves halves) const {
    if (slices_) return {ranks_, how, slices_};
    return {ranks_, how, model, halves};
  }
  /// The gradients of all ranks, or this rank's parts of them after shard(). A parameter that took part nowhere is left
  /// out; if it took part elsewhere, this rank has zeros.
  GradientsParams combined(GradientsParams grads, Combine how, const nn::ModuleView& model,
                           Buckets::Halves halves) const;
  /// The gradient of the whole batch: the mean over ranks, each weighted by its items.
  GradientsParams mean(GradientsParams grads, std::int64_t items, const nn::ModuleView& model) const;
  /// kiln::value_and_grad() of a rank's part of a batch, of `items` items: its own loss, and the gradients of the whole
  /// batch, which are combined while earlier ones are computed. `f` is a function for value_and_grad().
  template <Module M, class F>
  ValueAndGrad<Tensor<0>> value_and_grad(const M& model, std::int64_t items, F&& f) const {
    static_assert(std::is_reference_v<typename nn::TakenAs<std::remove_cvref_t<F>, M>::type>,
                  "value_and_grad: the function must take the model as const M&");
    auto [loss, grads] = value_and_grad_of(model, items, [&] { return f(model).value(); });
    return {Tensor<0>(Typed{std::move(loss)}), std::move(grads)};
  }

  /// The ranks' places in their streams, as bytes; empty for a single rank.
  std::vector<std::uint8_t> places(const StreamPlace& own) const;
  /// This rank's place, from what rank 0 has: `alone` for a single rank, and the beginning if the number of ranks has
  /// changed, since then the streams are different.
  StreamPlace own_place(const std::vector<std::uint8_t>& places, const StreamPlace& alone) const;

  /// Merges the states of all metrics into rank 0's, and resets the others'.
  void gather(MetricList& metrics) const;
  /// The readings over all data, the same on all ranks. Calls gather().
  std::vector<Reading> readings(MetricList& metrics) const;

  /// Returns whether some rank wants to save and none wants to discard. Passes requests to stop, and the time by rank
  /// 0's clock, to `run`.
  bool agree(TrainingRun& run, bool save, bool discard = false) const;

  /// Tells the others not to wait for this rank.
  void leave(std::string_view reason) const { ranks_->leave(reason); }

 private:
  ValueAndGrad<Value> value_and_grad_of(const nn::ModuleView& model, std::int64_t items,
                                        FunctionRef<Value()> loss) const;

  Ranks ranks_;
  Sharding sharding_;
  std::shared_ptr<const Layout> slices_;  // null unless ranks share an optimizer's state
};

}  // namespace kiln::training

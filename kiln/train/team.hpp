// Training on several ranks: what they tell each other, so that together they do what one would with all of the data. Of a
// rank by itself: nothing, at no cost.
#pragma once
#include <string>
#include <vector>

#include "kiln/data/stream/place.hpp"
#include "kiln/nn/gradients.hpp"
#include "kiln/ops/collective/communicator.hpp"
#include "kiln/train/buckets.hpp"
#include "kiln/train/metric_set.hpp"
#include "kiln/train/run.hpp"

namespace kiln::training {

class Team {
 public:
  /// Throws ArgumentError without ranks.
  explicit Team(Ranks ranks = alone());

  bool several() const { return ranks_->size() > 1; }
  /// Rank 0 writes checkpoints, and has all callbacks.
  bool leads() const { return ranks_->rank() == 0; }
  int rank() const { return ranks_->rank(); }

  /// Throws ConfigError on all ranks where they are about to train differently: the first thing in which two differ. The
  /// metrics are those of training and of validation, null where there is none.
  void require_same(const nn::ModuleView& model, std::string_view optimizer, const LearnerConfig& config,
                    std::initializer_list<const MetricList*> metrics) const;
  /// Throws DataError on all ranks where they have come to have different weights.
  void require_same_weights(const nn::ModuleView& model) const;
  /// The objects become what they are on rank 0.
  void share(RecordedObjects& objects) const;
  /// So do the buffers of a model, of which each rank has seen other data.
  void share_buffers(const nn::ModuleRef& model) const;

  /// The largest number of all ranks.
  std::int64_t most(std::int64_t number) const;
  /// The items of all ranks for the mean rank, and how much the mean over this rank's counts beside that: the loss is
  /// multiplied by it before it is differentiated, as gradients may go through other ranks.
  struct Part {
    double mean_items = 0, weight = 1;
  };
  Part part(std::int64_t items) const;
  /// The loss of a batch of which each rank has a part, and its items.
  struct Batch {
    double loss = 0;
    std::int64_t items = 0;
  };
  Batch total(double loss, std::int64_t items) const;

  /// For the gradients of this step, which all ranks combine.
  Buckets buckets(Combine how, const nn::ModuleView& model, Buckets::Halves halves) const {
    return {ranks_, how, model, halves};
  }
  /// All ranks' gradients. A parameter that took no part anywhere is left out; where it did elsewhere, this rank has zeros.
  GradientsParams combined(GradientsParams grads, Combine how, const nn::ModuleView& model,
                           Buckets::Halves halves) const;
  /// The gradient of the whole batch: the mean over ranks, of which each counts by its items.
  GradientsParams mean(GradientsParams grads, std::int64_t items, const nn::ModuleView& model) const;
  /// kiln::value_and_grad() of a rank's part of a batch, of so many items: its own loss, and the gradients of the whole batch,
  /// which travel while earlier ones are computed. `f` is one that value_and_grad() takes.
  template <Module M, class F>
  ValueAndGrad<Tensor<0>> value_and_grad(const M& model, std::int64_t items, F&& f) const {
    static_assert(std::is_reference_v<typename nn::TakenAs<std::remove_cvref_t<F>, M>::type>,
                  "value_and_grad: the function must take the model as const M&");
    auto [loss, grads] = value_and_grad_of(model, items, [&] { return f(model).value(); });
    return {Tensor<0>(Typed{std::move(loss)}), std::move(grads)};
  }

  /// Where the ranks are in their streams, as bytes; of a rank by itself none.
  std::vector<std::uint8_t> places(const StreamPlace& own) const;
  /// Where this rank was, by what rank 0 has: `alone` of one by itself, and nowhere if there were other ranks than now, whose
  /// streams were others.
  StreamPlace own_place(const std::vector<std::uint8_t>& places, const StreamPlace& alone) const;

  /// Rank 0 has what all metrics have seen, the others begin anew.
  void gather(MetricList& metrics) const;
  /// Of all that was measured, the same on all ranks. Gathers.
  std::vector<Reading> readings(MetricList& metrics) const;

  /// Whether some rank asks to save. What some rank asked to stop for, and the time by rank 0's clock, are told to `run`.
  bool agree(TrainingRun& run, bool save) const;

  /// The others need not wait.
  void leave(std::string_view reason) const { ranks_->leave(reason); }

 private:
  ValueAndGrad<Value> value_and_grad_of(const nn::ModuleView& model, std::int64_t items,
                                        FunctionRef<Value()> loss) const;

  Ranks ranks_;
};

}  // namespace kiln::training

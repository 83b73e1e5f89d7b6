// An optimizer's state that ranks share: each has the state of a part of the parameters, and updates that part.
//
//   gradients --reduce-scatter--> sums of this rank's parts --optimizer--> new parts --all-gather--> the model
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kiln/ops/collective/communicator.hpp"
#include "kiln/optim/optimizer.hpp"
#include "kiln/train/ranks/layout.hpp"

namespace kiln {

/// What each of several ranks has only a part of. Rajbhandari, Rasley, Ruwase, He, "ZeRO: memory optimizations toward
/// training trillion parameter models", 2020.
enum class Sharding : std::uint8_t {
  None,
  State,      // the optimizer's state (ZeRO 1)
  Gradients,  // also the gradients that accumulate over the batches of a step (ZeRO 2)
};

namespace training {

class Shards {
 public:
  /// Leaves `state` the parts of this rank alone; all ranks have the same state before. It must outlive this.
  Shards(Ranks among, OptimizerState& state, const nn::ModuleView& model);

  const std::shared_ptr<const Layout>& layout() const { return layout_; }

  // All ranks call these together.

  /// Updates this rank's parts, of which it has the gradients, and then the model on all ranks.
  void step(const Rates& rates, const nn::ModuleRef& model, const GradientsParams& grads);
  /// OptimizerState::put_averages() of the whole state.
  void put_averages(const nn::ModuleRef& model) const;
  /// While f runs, the optimizer of rank 0 has the whole state, in the memory of the host.
  void with_whole_state(FunctionRef<void()> f);

 private:
  /// Current values of the parts that this rank updates, from the first parameter to the last.
  std::vector<NamedParam> parts(const nn::ModuleView& model) const;
  /// Gives the model the parts of all ranks. A part that `own` lacks stays as it is.
  void gather(const nn::ModuleRef& model, const std::map<std::string, Value>& own) const;
  void gather_whole(const Layout::Bucket& bucket, const std::map<std::string, Value>& before,
                    const std::map<std::string, Value>& own, std::map<std::string, Value>& after,
                    Values& pending) const;
  /// The states of whole parameters at rank 0; elsewhere nothing.
  std::map<std::string, ParamState> gathered_states() const;

  const Ranks among_;
  OptimizerState& state_;
  std::shared_ptr<const Layout> layout_;
};

}  // namespace training
}  // namespace kiln

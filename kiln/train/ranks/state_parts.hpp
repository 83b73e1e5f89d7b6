// Sends the parts of an optimizer's state to rank 0, which joins them.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "kiln/ops/collective/communicator.hpp"
#include "kiln/ops/node.hpp"
#include "kiln/optim/rule.hpp"

namespace kiln::training {

/// A ParamState without its elements: the slots, and then the master.
struct StateDescription {
  std::int64_t steps = 0;
  std::vector<double> numbers{};
  std::vector<std::optional<Desc>> tensors{};
};
/// The states of one rank, by path.
using StateDescriptions = std::map<std::string, StateDescription>;

/// The descriptions of all ranks' states. All ranks call it.
std::vector<StateDescriptions> described_states(Communicator& among, const std::map<std::string, ParamState>& own);
/// The state of a parameter of this shape, on the processor, at rank 0; elsewhere, and if no rank has a state, none. A
/// rank without a part has a null state. All ranks call it.
std::optional<ParamState> joined_state(Communicator& among, const std::string& path, const Shape& shape,
                                       const ParamState* own, const std::vector<StateDescriptions>& descriptions);

}  // namespace kiln::training

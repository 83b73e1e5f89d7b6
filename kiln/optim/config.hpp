// An optimizer as data, for JSON files.
//
//   {"rule": {"AdamW": {"weight_decay": 0.1}}, "clip": {"global_norm": 1},
//    "groups": [{"params": {"rank": [0, 1]}, "rule": {"Sgd": {"momentum": 0.9}}, "rate": 0.1}]}
//
//   AnyOptimizer optimizer = load_config<OptimizerConfig>("optimizer.json").init(model);
//
// A config names rules only, which need nothing but gradients. Lbfgs needs the loss itself, several times per step, so
// it cannot be used in their place: it has a config of its own, load_config<LbfgsConfig>("lbfgs.json").
#pragma once
#include <optional>
#include <vector>

#include "kiln/optim/rules/all.hpp"

namespace kiln {

/// A ParamGroup.
struct GroupConfig {
  Selector params = Selector::all();
  RuleConfig rule{};
  double rate = 1;
};

struct OptimizerConfig {
  RuleConfig rule{};  // AdamW
  std::optional<std::vector<GroupConfig>> groups{};
  ClipOptions clip{};

  /// Throws what the constructor of Optimizer throws.
  template <class M>
  AnyOptimizer init(const M& model) const {
    return {any_rule(rule), nn::module_of(model), options()};
  }
  OptimizerOptions options() const;
};

}  // namespace kiln

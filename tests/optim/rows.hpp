// All rules, a row each: how it is set, what it means, and what PyTorch makes of the same steps. Tests go through the
// table; a new rule has a row here.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "kiln/optim/rules/all.hpp"
#include "tests/optim/references.hpp"

namespace kiln {

struct RuleRow {
  std::string label;
  AnyRule rule;
  double rate;
  references::MakeStep reference;
  std::span<const double> torch{};  // all elements after 50 steps, where PyTorch has the rule; see torch_figures.py
  bool matrices_only = false;
};

const std::vector<RuleRow>& rule_rows();

}  // namespace kiln

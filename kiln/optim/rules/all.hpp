// The list of all rules: those that configs can name and tests run over. A new rule is a file and a line here.
#pragma once
#include <variant>

#include "kiln/optim/rules/adadelta.hpp"
#include "kiln/optim/rules/adafactor.hpp"
#include "kiln/optim/rules/adagrad.hpp"
#include "kiln/optim/rules/adam.hpp"
#include "kiln/optim/rules/adan.hpp"
#include "kiln/optim/rules/lamb.hpp"
#include "kiln/optim/rules/lion.hpp"
#include "kiln/optim/rules/muon.hpp"
#include "kiln/optim/rules/nadam.hpp"
#include "kiln/optim/rules/radam.hpp"
#include "kiln/optim/rules/rmsprop.hpp"
#include "kiln/optim/rules/schedule_free.hpp"
#include "kiln/optim/rules/sgd.hpp"
#include "kiln/optim/rules/soap.hpp"

namespace kiln {

/// One of Kiln's own rules, as data.
using RuleConfig = std::variant<AdamWConfig, SgdConfig, AdamConfig, AdaGradConfig, AdaDeltaConfig, RmsPropConfig,
                                AdanConfig, MuonConfig, LionConfig, AdafactorConfig, LambConfig, NAdamConfig,
                                RAdamConfig, ScheduleFreeAdamWConfig, SoapConfig>;

AnyRule any_rule(const RuleConfig& config);

}  // namespace kiln

// Any activation, as a module and as an option of configs: .activation = nn::Gelu{.approximate = true}, in JSON
// "activation": {"Gelu": {"approximate": true}}, or "activation": "Gelu" with its defaults.
#pragma once
#include "kiln/nn/activation/activation.hpp"
#include "kiln/nn/activation/learned.hpp"
#include "kiln/nn/identity.hpp"
#include "kiln/nn/module/part_type.hpp"
#include "kiln/nn/one_of.hpp"

namespace kiln::nn {

#define KILN_ACTIVATIONS                                                                                         \
  Relu, Relu6, SquaredRelu, LeakyRelu, ThresholdedRelu, Threshold, Elu, Celu, Selu, Gelu, QuickGelu, Silu, Mish, \
      Softplus, Sigmoid, LogSigmoid, HardSigmoid, HardSwish, Tanh, Hardtanh, Softsign, Tanhshrink, HardShrink,   \
      SoftShrink, Shrink, Softmax, Softmin, QuietSoftmax, LogSoftmax, Glu, PRelu, RRelu, SwiGlu, Identity

using Activation = OneOf<KILN_ACTIVATIONS>;
using ActivationConfig = Activation::Config;

// Compiled in choices.cpp.
extern template class OneOf<KILN_ACTIVATIONS>;
extern template void each_part<Activation>(void*, PartType::Visit);

}  // namespace kiln::nn

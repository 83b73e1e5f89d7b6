// Any activation, as a module and as what a config says: .activation = nn::Gelu{.approximate = true}, in JSON
// "activation": {"Gelu": {"approximate": true}}, or "activation": "Gelu" with its defaults.
#pragma once
#include "kiln/nn/activation/activation.hpp"
#include "kiln/nn/activation/learned.hpp"
#include "kiln/nn/identity.hpp"
#include "kiln/nn/one_of.hpp"

namespace kiln::nn {

using Activation =
    OneOf<Relu, Relu6, SquaredRelu, LeakyRelu, ThresholdedRelu, Threshold, Elu, Celu, Selu, Gelu, QuickGelu, Silu, Mish,
          Softplus, Sigmoid, LogSigmoid, HardSigmoid, HardSwish, Tanh, Hardtanh, Softsign, Tanhshrink, HardShrink,
          SoftShrink, Shrink, Softmax, Softmin, QuietSoftmax, LogSoftmax, Glu, PRelu, RRelu, SwiGlu, Identity>;
using ActivationConfig = Activation::Config;

}  // namespace kiln::nn

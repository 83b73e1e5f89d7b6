// Activation functions as modules: for Sequential, for structs that name them, and for Activation (choice.hpp). They
// accept any shape and keep it, except Glu, and compute the functions of the same names; options have PyTorch's
// defaults.
#pragma once
#include "kiln/ops/elementwise/activation.hpp"
#include "kiln/tensor/arithmetic.hpp"

namespace kiln::nn {

// Each row is a name, the result for x, and the options.
#define KILN_ACTIVATION(Name, result, ...)               \
  struct Name {                                          \
    __VA_ARGS__                                          \
    Value apply(const Value& x) const { return result; } \
    template <int D>                                     \
    Tensor<D> forward(const Tensor<D>& x) const {        \
      return Typed{apply(x.value())};                    \
    }                                                    \
  };

// ---- with a kink at 0 ----------------------------------------------------------------------------------------------
KILN_ACTIVATION(Relu, relu(x))
/// min(max(x, 0), 6)
KILN_ACTIVATION(Relu6, relu6(x))
/// max(x, 0)^2 (So et al., "Primer", 2021)
KILN_ACTIVATION(SquaredRelu, square(relu(x)))
KILN_ACTIVATION(LeakyRelu, leaky_relu(x, slope), double slope = 0.01;)
/// 0 where x is not above `limit`.
KILN_ACTIVATION(ThresholdedRelu, thresholded_relu(x, limit), double limit = 1;)
/// `substitute` where x is not above `limit`.
KILN_ACTIVATION(Threshold, threshold(x, limit, substitute), double limit = 0, substitute = 0;)
/// alpha (exp(x) - 1) where x is negative.
KILN_ACTIVATION(Elu, elu(x, alpha), double alpha = 1;)
/// alpha (exp(x / alpha) - 1) where x is negative.
KILN_ACTIVATION(Celu, celu(x, alpha), double alpha = 1;)
KILN_ACTIVATION(Selu, selu(x))

// ---- smooth --------------------------------------------------------------------------------------------------------
/// x * Phi(x), exactly; or PyTorch's tanh approximation.
KILN_ACTIVATION(Gelu, approximate ? gelu_tanh(x) : gelu(x), bool approximate = false;)
/// x * sigmoid(1.702 x), which CLIP and GPT-like models were trained with (Hendrycks, Gimpel, 2016).
KILN_ACTIVATION(QuickGelu, silu(x * 1.702) / 1.702)
/// x * sigmoid(x), also called swish.
KILN_ACTIVATION(Silu, silu(x))
KILN_ACTIVATION(Mish, mish(x))
/// log(1 + exp(beta x)) / beta, and x itself where beta x is above `limit`.
KILN_ACTIVATION(Softplus, softplus(x, beta, limit), double beta = 1, limit = 20;)

// ---- with bounds ---------------------------------------------------------------------------------------------------
KILN_ACTIVATION(Sigmoid, sigmoid(x))
KILN_ACTIVATION(LogSigmoid, log_sigmoid(x))
/// scale * x + offset, clamped to [0, 1].
KILN_ACTIVATION(HardSigmoid, hard_sigmoid(x, scale, offset), double scale = 1.0 / 6, offset = 0.5;)
KILN_ACTIVATION(HardSwish, hard_swish(x))
KILN_ACTIVATION(Tanh, tanh(x))
KILN_ACTIVATION(Hardtanh, hardtanh(x, low, high), double low = -1, high = 1;)
KILN_ACTIVATION(Softsign, softsign(x))

// ---- that set small elements to 0 ----------------------------------------------------------------------------------
KILN_ACTIVATION(Tanhshrink, tanhshrink(x))
KILN_ACTIVATION(HardShrink, hard_shrink(x, bound), double bound = 0.5;)
KILN_ACTIVATION(SoftShrink, soft_shrink(x, bound), double bound = 0.5;)
/// x moved towards 0 by `bias` where |x| > bound, else 0.
KILN_ACTIVATION(Shrink, shrink(x, bound, bias), double bound = 0.5, bias = 0;)

// ---- over several elements -----------------------------------------------------------------------------------------
KILN_ACTIVATION(Softmax, softmax(x, dim), Dim dim = -1;)
KILN_ACTIVATION(Softmin, softmin(x, dim), Dim dim = -1;)
/// exp(x) / (1 + sum of exp(x)): a row may sum to less than 1.
KILN_ACTIVATION(QuietSoftmax, quiet_softmax(x, dim), Dim dim = -1;)
KILN_ACTIVATION(LogSoftmax, log_softmax(x, dim), Dim dim = -1;)
/// a * sigmoid(b), where a and b are the halves of x along `dim`; the result has half the size there.
KILN_ACTIVATION(Glu, glu(x, dim), Dim dim = -1;)

#undef KILN_ACTIVATION

}  // namespace kiln::nn

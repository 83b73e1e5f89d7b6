// cross_entropy: logits are .batch, classes
#include "kiln/tensor/loss.hpp"
using namespace kiln;
auto loss(Tensor<3> logits, Tensor<1, Int> targets) { return cross_entropy(logits, targets); }

// What a model and its training loop need: tensors, gradients, modules, optimizers, files of both, configs. Data sets
// and what few programs use have headers of their own (kiln/data/), so that a model compiles in about a second.
#pragma once
#include "kiln/autodiff/backward.hpp"
#include "kiln/core/config.hpp"
#include "kiln/nn/nn.hpp"
#include "kiln/ops/no_grad.hpp"
#include "kiln/optim/optim.hpp"
#include "kiln/store/save.hpp"
#include "kiln/tensor/arithmetic.hpp"
#include "kiln/tensor/assemble.hpp"
#include "kiln/tensor/conv.hpp"
#include "kiln/tensor/create.hpp"
#include "kiln/tensor/custom.hpp"
#include "kiln/tensor/loss.hpp"
#include "kiln/tensor/norm.hpp"
#include "kiln/tensor/pool.hpp"
#include "kiln/tensor/print.hpp"
#include "kiln/tensor/tensor.hpp"

// Everything that a model and its training loop need. What few programs use has headers of its own beside this one.
#pragma once
#include "kiln/autodiff/backward.hpp"
#include "kiln/ops/no_grad.hpp"
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

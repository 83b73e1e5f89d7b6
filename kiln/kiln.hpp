// All that a model and its training loop need: tensors, gradients, distributions, modules, optimizers, files of models
// and optimizers, configs. Data sets (kiln/data.hpp), the Learner (kiln/train.hpp) and what few programs use have
// headers of their own, so that a model compiles in two or three seconds; docs/names.md lists them.
#pragma once
#include "kiln/core/config/config.hpp"
#include "kiln/distribution.hpp"
#include "kiln/nn.hpp"
#include "kiln/optim.hpp"
#include "kiln/store/graph_file.hpp"
#include "kiln/store/save.hpp"
#include "kiln/tensor.hpp"

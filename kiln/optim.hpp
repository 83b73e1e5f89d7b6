// All optimizers, schedules and clipping.
#pragma once
#include "kiln/optim/clip.hpp"
#include "kiln/optim/config.hpp"
#include "kiln/optim/gradients.hpp"
#include "kiln/optim/lbfgs.hpp"
#include "kiln/optim/optimizer.hpp"
#include "kiln/optim/rules/all.hpp"
#include "kiln/optim/scaler.hpp"
#include "kiln/optim/schedule.hpp"

// All optimizers, schedules and clipping.
#pragma once
#include "kiln/optim/adam.hpp"
#include "kiln/optim/clip.hpp"
#include "kiln/optim/optimizer.hpp"
#include "kiln/optim/scaler.hpp"
#include "kiln/optim/schedule.hpp"
#include "kiln/optim/sgd.hpp"

// All schedules.
#pragma once
#include "kiln/optim/schedule/combined.hpp"
#include "kiln/optim/schedule/cycle.hpp"
#include "kiln/optim/schedule/decay.hpp"
#include "kiln/optim/schedule/plateau.hpp"
#include "kiln/optim/schedule/plot.hpp"
#include "kiln/optim/schedule/schedule.hpp"

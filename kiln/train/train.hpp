// All of kiln/train.
#pragma once
#include "kiln/train/checkpointer.hpp"
#include "kiln/train/early_stopping.hpp"
#include "kiln/train/evaluator.hpp"
#include "kiln/train/learner.hpp"
#include "kiln/train/metric/accuracy.hpp"
#include "kiln/train/metric/detection.hpp"
#include "kiln/train/metric/image.hpp"
#include "kiln/train/metric/ranking.hpp"
#include "kiln/train/metric/ratio.hpp"
#include "kiln/train/metric/regression.hpp"
#include "kiln/train/metric/words.hpp"

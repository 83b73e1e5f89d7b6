// All losses.
#pragma once
#include "kiln/nn/loss/of_boxes.hpp"
#include "kiln/nn/loss/of_classes.hpp"
#include "kiln/nn/loss/of_numbers.hpp"
#include "kiln/nn/loss/of_pairs.hpp"
#include "kiln/nn/loss/of_policies.hpp"
#include "kiln/nn/loss/of_sequences.hpp"

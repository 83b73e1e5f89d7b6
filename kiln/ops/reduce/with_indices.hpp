// Elements and where they came from: what ordering functions answer.
#pragma once
#include "kiln/ops/functions.hpp"

namespace kiln {

struct ValueWithIndices {
  Value values, indices;  // of one shape; indices are int64
};

}  // namespace kiln

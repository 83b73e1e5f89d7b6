// Elements and their original indices: the result of ordering functions.
#pragma once
#include "kiln/ops/functions.hpp"

namespace kiln {

struct ValueWithIndices {
  Value values, indices;  // of one shape; indices are int64
};

}  // namespace kiln

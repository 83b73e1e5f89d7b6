#include "kiln/ops/functions/statistics.hpp"

namespace kiln {

Value deviation(const Value& x, const Dims& dims, int correction, bool keep) {
  return sqrt(variance(x, dims, correction, keep));
}

}  // namespace kiln

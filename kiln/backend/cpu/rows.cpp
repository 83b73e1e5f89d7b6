#include "kiln/backend/cpu/rows.hpp"

namespace kiln::cpu {

Array broadcast_to(const Array& array, const Shape& shape) {
  Array result{.data = array.data, .dtype = array.dtype, .shape = shape, .strides = Dims::filled(shape.size(), 0)};
  const int added = shape.size() - array.shape.size();
  KILN_CHECK(added >= 0);
  for (int i = 0; i < array.shape.size(); ++i) {
    KILN_CHECK(array.shape[i] == 1 || array.shape[i] == shape[added + i]);
    if (array.shape[i] != 1) result.strides[added + i] = array.strides[i];
  }
  return result;
}

}  // namespace kiln::cpu

#include "kiln/backend/cpu/rows.hpp"

namespace kiln::cpu {

Array broadcast_to(const Array& array, const Shape& shape) {
  return {.data = array.data,
          .dtype = array.dtype,
          .shape = shape,
          .strides = strided::broadcast_strides(array.shape, array.strides, shape)};
}

}  // namespace kiln::cpu

// NumPy's numbers and arrays, which checkpoints contain besides tensors: a best loss, a list of metrics.
#pragma once
#include "kiln/store/pickle/tensor.hpp"

namespace kiln::pickle {

/// numpy.dtype('f8', False, True)
Problem element_type(const List& arguments, Value& result);
/// scalar(dtype, bytes), which becomes a plain number
Problem numpy_number(const List& arguments, Value& result);
/// _reconstruct(numpy.ndarray, (0,), b'b'): an array that is still empty
Problem empty_array(const List& arguments, Value& result);

/// The state that BUILD sets: the byte order of a number; version, shape, dtype, whether it is column-major, and the
/// elements of an array.
Problem set_byte_order(const ElementType& type, const Value& state);
Problem set_elements(const Value& state, Array& array);

}  // namespace kiln::pickle

// NumPy's numbers and arrays, which checkpoints contain besides tensors: a best loss, a list of metrics.
#pragma once
#include "kiln/store/pickle/tensor.hpp"

namespace kiln::pickle {

/// numpy.dtype('f8', False, True)
Complaint element_type(const List& arguments, Value& result);
/// scalar(dtype, bytes), which becomes a plain number
Complaint numpy_number(const List& arguments, Value& result);
/// _reconstruct(numpy.ndarray, (0,), b'b'): an array that is still empty
Complaint empty_array(const List& arguments, Value& result);

/// The state that BUILD sets: the byte order of a number; version, shape, dtype, whether it is column-major, and the
/// elements of an array.
Complaint set_byte_order(const ElementType& type, const Value& state);
Complaint set_elements(const Value& state, Array& array);

}  // namespace kiln::pickle

// NumPy's numbers and arrays, which stand in checkpoints beside tensors: a best loss, a list of metrics.
#pragma once
#include "kiln/store/pickle/tensor.hpp"

namespace kiln::pickle {

/// numpy.dtype('f8', False, True)
Complaint element_type(const List& arguments, Value& result);
/// scalar(dtype, bytes), which becomes a plain number.
Complaint numpy_number(const List& arguments, Value& result);
/// _reconstruct(numpy.ndarray, (0,), b'b'): an array that is still empty.
Complaint empty_array(const List& arguments, Value& result);

/// What BUILD gives them: the order of a number's bytes; version, shape, dtype, is it column-major?, and elements.
Complaint set_byte_order(const ElementType& type, const Value& state);
Complaint set_elements(const Value& state, Array& array);

}  // namespace kiln::pickle

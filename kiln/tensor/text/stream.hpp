// Writes tensors, shapes, element types and devices to a std::ostream, in the texts of print() and of error sentences:
// std::cout << x << x.shape() << x.dtype() << x.device(). Tensors are shown with print_options().
#pragma once
#include <ostream>

#include "kiln/tensor/text/format.hpp"

namespace kiln {

inline std::ostream& operator<<(std::ostream& out, const TensorData& data) { return out << to_text(data); }
/// Waits for the device.
inline std::ostream& operator<<(std::ostream& out, const Value& tensor) { return out << to_text(tensor); }
template <int D, class K>
std::ostream& operator<<(std::ostream& out, const Tensor<D, K>& tensor) {
  return out << to_text(tensor);
}
template <class T, int N>
std::ostream& operator<<(std::ostream& out, const InlineList<T, N>& list) {
  return out << text(list);
}
inline std::ostream& operator<<(std::ostream& out, DType dtype) { return out << text(dtype); }
inline std::ostream& operator<<(std::ostream& out, const Device& device) { return out << text(device); }

}  // namespace kiln

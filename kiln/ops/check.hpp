// Checks and small computations that the `infer` functions of several op families share.
#pragma once
#include "kiln/ops/value.hpp"

namespace kiln::op {

inline Descs one(const Shape& shape, DType dtype) { return Descs{Desc{shape, dtype}}; }

inline void require_count(std::string_view op, Inputs in, std::size_t least, std::size_t most) {
  if (in.size() < least || in.size() > most) [[unlikely]]
    fail<ArgumentError>(op, ": takes ", least, least == most ? "" : text(" to ", most), " operands, got ", in.size());
}
/// Returns the dimension that an op names. Ops count from the front; the public functions have wrapped negative
/// numbers.
inline int require_dim(std::string_view op, std::int64_t dim, int rank) {
  require<IndexError>(dim >= 0, op, ": dimension ", dim, " of an op is not counted from the front");
  return wrap_dim(op, dim, rank);
}
inline void require_tensor(std::string_view op, const Value& value) {
  require<ArgumentError>(value && !value.is_scalar(), op, ": needs a tensor, got ", value);
}
/// Throws unless `value` is a tensor of this shape and type.
inline void require_like(std::string_view op, const Value& value, const Shape& shape, DType dtype) {
  require_tensor(op, value);
  require<ShapeError>(value.shape() == shape && value.dtype() == dtype, op, ": needs ", dtype, " ", shape, ", got ",
                      value);
}
/// Throws unless `value` is a tensor or a plain number.
inline void require_present(std::string_view op, const Value& value) {
  require<ArgumentError>(!value.empty(), op, ": an operand is missing");
}
inline void require_same_dtype(std::string_view op, const Value& a, const Value& b) {
  require<DTypeError>(a.dtype() == b.dtype(), op, ": ", a, " and ", b, " must have one element type");
}
inline void require_index(std::string_view op, const Value& index) {
  require_tensor(op, index);
  require<DTypeError>(is_integer(index.dtype()), op, ": indices must be an integer tensor, got ", index);
}
inline void require_float(std::string_view op, const Value& value) {
  require_tensor(op, value);
  require<DTypeError>(is_float(value.dtype()), op, ": needs a tensor of floats, got ", value);
}

/// Strides, paddings and dilations are below 2^31, so that no product of two of them overflows.
inline void require_reasonable(std::string_view op, std::initializer_list<Spatial> options) {
  for (const Spatial& option : options)
    for (const auto number : option)
      require<ArgumentError>(number < std::int64_t{1} << 31, op, ": ", number, " in ", option, " is not below 2^31");
}

}  // namespace kiln::op

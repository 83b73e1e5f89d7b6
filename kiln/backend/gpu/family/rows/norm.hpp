// What norms share: the moments of rows, for any strides, and the normalisation of elements by known moments.
#pragma once
#include "kiln/backend/gpu/family/rows/folding.hpp"

namespace kiln::gpu::family {

/// Moments have the type in which elements are computed. The mean is `near` + `rest`: far from 0, one number would be
/// too coarse for the distances of the elements from it.
struct Moments {
  Value held[5];
  Array near, rest, inverse, mean, variance;  // inverse is 1 / sqrt(variance + epsilon)
};
/// The moments of x along `dims`, which stay with size 1. If not `centred`, the mean is taken as 0.
Moments moments(Gpu& gpu, const Array& x, const Dims& dims, bool centred, double epsilon);

/// 1 / sqrt(variance + epsilon)
inline Expr inverse_deviation(Builder& k, const Expr& variance, const Expr& epsilon) {
  return 1.0 / k.call("sqrt", variance.type(), {variance + epsilon});
}

/// y = (x - near - rest) * inverse * weight + bias; all broadcast to x, and y has its shape.
void apply_norm(Gpu& gpu, const PointwiseOperand& x, const Moments& moments, const PointwiseOperand& weight,
                const PointwiseOperand& bias, const Array& y, bool in_place);

/// What the gradient of x needs besides the moments: the sums of weight * g, and of that times the normalised x, over
/// the `count` elements that share moments.
struct GradientSums {
  PointwiseOperand of_gradient, of_product;
  double count;
};
/// dx = inverse * (weight * g - (their mean) - normal * (the mean of their products with the normalised x)), where the
/// second term is left out if not `centred`.
void apply_norm_gradient(Gpu& gpu, const Array& g, const Array& x, const Moments& moments,
                         const PointwiseOperand& weight, const GradientSums& sums, bool centred, const Array& dx);

/// The elements of a tensor, or a number if it is absent.
inline PointwiseOperand operand_or(const Value& value, double number, const Shape& shape, DType dtype, Value& held,
                                   Gpu& gpu) {
  if (!value.node()) return {.number = Argument(Scalar(number), dtype)};
  Array array = gpu.read_contiguous(value, held);
  array.shape = shape;
  array.strides = contiguous_strides(shape);
  return {.array = array};
}
/// A contiguous array with another shape.
inline Array seen_as(Array array, const Shape& shape) {
  array.shape = shape;
  array.strides = contiguous_strides(shape);
  return array;
}

}  // namespace kiln::gpu::family

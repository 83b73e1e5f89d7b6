// What norms share: the moments of rows, however they lie, and what is made of elements once moments are known.
#pragma once
#include "kiln/backend/gpu/family/rows/folding.hpp"

namespace kiln::gpu::family {

/// Moments are in what elements are computed in. The mean is `near` + `rest`: far from zero, one number would not say
/// how elements lie around it.
struct Moments {
  Value held[5];
  Array near, rest, inverse, mean, variance;  // the third is 1 / sqrt(variance + epsilon)
};
/// Of x along `dims`, which stay with size 1. Not `centred`: the mean counts as 0.
Moments moments(Gpu& gpu, const Array& x, const Dims& dims, bool centred, double epsilon);

/// 1 / sqrt(variance + epsilon)
inline Expr inverse_deviation(Builder& k, const Expr& variance, const Expr& epsilon) {
  return 1.0 / k.call("sqrt", variance.type(), {variance + epsilon});
}

/// y = (x - near - rest) * inverse * weight + bias; all broadcast to x, and y has its shape.
void apply_norm(Gpu& gpu, const Operand& x, const Moments& moments, const Operand& weight, const Operand& bias,
                const Array& y, bool in_place);

/// What a gradient of x needs to know beside the moments: the sums of weight * g, and of that times the normalised x, over
/// the `count` elements that have moments in common.
struct GradientSums {
  Operand of_gradient, of_product;
  double count;
};
/// dx = inverse * (weight * g - (their mean) - normal * (the mean of their products with the normalised x)), of which the
/// second part falls away where the mean does not count.
void apply_norm_gradient(Gpu& gpu, const Array& g, const Array& x, const Moments& moments, const Operand& weight,
                         const GradientSums& sums, bool centred, const Array& dx);

/// A tensor's elements, or a number in place of what is absent.
inline Operand operand_or(const Value& value, double number, const Shape& shape, DType dtype, Value& held, Gpu& gpu) {
  if (!value.node()) return {.number = Argument(Scalar(number), dtype)};
  Array array = gpu.read_contiguous(value, held);
  array.shape = shape;
  array.strides = contiguous_strides(shape);
  return {.array = array};
}
/// The same elements of a contiguous array in another shape.
inline Array seen_as(Array array, const Shape& shape) {
  array.shape = shape;
  array.strides = contiguous_strides(shape);
  return array;
}

}  // namespace kiln::gpu::family

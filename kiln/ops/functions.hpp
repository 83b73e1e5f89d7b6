// The tensor functions over Value, with rank and element type at run time. Gradients are written with them, the typed
// facade forwards to them, importers call them. Every error names the function, the operands and the reason.
#pragma once
#include <optional>
#include <vector>

#include "kiln/core/random.hpp"
#include "kiln/ops/elementwise/elementwise.hpp"
#include "kiln/ops/value.hpp"

namespace kiln {

using Values = std::vector<Value>;
class CustomOp;

// ---- reductions: over all dimensions, or over `dims` (negative from the end); `keep` leaves them with size 1 ------
Value sum(const Value& x);
Value sum(const Value& x, const Dims& dims, bool keep = false);
Value mean(const Value& x);
Value mean(const Value& x, const Dims& dims, bool keep = false);
Value prod(const Value& x);
Value prod(const Value& x, const Dims& dims, bool keep = false);
Value max(const Value& x);
Value max(const Value& x, const Dims& dims, bool keep = false);
Value min(const Value& x);
Value min(const Value& x, const Dims& dims, bool keep = false);
Value any(const Value& x);
Value any(const Value& x, const Dims& dims, bool keep = false);
Value all(const Value& x);
Value all(const Value& x, const Dims& dims, bool keep = false);
/// Returns int64 indices of the first extreme element along `dim`, or within all of x in row-major order.
Value argmax(const Value& x);
Value argmin(const Value& x);
Value argmax(const Value& x, Dim dim, bool keep = false);
Value argmin(const Value& x, Dim dim, bool keep = false);
/// The sum of squared distances to the mean, divided by count - correction.
Value variance(const Value& x, const Dims& dims, int correction = 1, bool keep = false);
/// Sums dimensions until the shape is `shape`, which broadcasts to x's: the adjoint of broadcasting.
Value sum_to(const Value& x, const Shape& shape);

// ---- views ---------------------------------------------------------------------------------------------------------
/// One size may be -1: it is inferred from the others.
Value reshape(const Value& x, Shape shape);
Value flatten(const Value& x, Dim first = 0, Dim last = -1);
Value unsqueeze(const Value& x, Dim dim);
/// Drops `dim`, which has size 1.
Value squeeze(const Value& x, Dim dim);
Value permute(const Value& x, const Dims& dims);
Value transpose(const Value& x, Dim dim1 = -2, Dim dim2 = -1);
Value expand(const Value& x, const Shape& shape);
Value flip(const Value& x, const Dims& dims);

/// Python's slice of one dimension: from:to:step; an absent end reaches as far as possible. Ends are clamped.
struct Range {
  std::optional<std::int64_t> from, to;
  std::int64_t step = 1;
};
/// ranges[i] applies to dimension i; further dimensions are taken whole.
Value slice(const Value& x, std::span<const Range> ranges);
/// Elements [start, start + count) of `dim`. Throws IndexError where there are fewer.
Value narrow(const Value& x, Dim dim, std::int64_t start, std::int64_t count);
/// Element `index` (negative from the end) of `dim`, which disappears. Throws IndexError.
Value at(const Value& x, Dim dim, std::int64_t index);
/// x with the elements of slice(x, ranges) replaced by `value`, which broadcasts to them.
Value slice_assign(const Value& x, std::span<const Range> ranges, const Value& value);

// ---- assembling ----------------------------------------------------------------------------------------------------
Value cat(Inputs parts, Dim dim);
/// The elements of all parts, one part after the other, each in row-major order, as `dtype`: [elements].
Value ravel(Inputs parts, DType dtype);
/// Joins the parts along a new dimension.
Value stack(Inputs parts, Dim dim);
/// Splits x into parts of `size` along `dim`; the last may be smaller.
Values split(const Value& x, std::int64_t size, Dim dim);
/// `before` and `after` give the elements to add at either end of each dimension; negative numbers remove elements.
Value pad(const Value& x, const Dims& before, const Dims& after, const Scalar& value = 0.0);

// ---- contractions --------------------------------------------------------------------------------------------------
/// [..., m, k] x [..., k, n] -> [..., m, n]; leading dimensions broadcast, element types promote.
Value matmul(const Value& a, const Value& b);

/// One entry per spatial dimension. An empty list means 1, for padding 0; an empty `padding_after` means `padding`.
struct ConvOptions {
  Spatial stride{}, padding{}, dilation{}, padding_after{};
  std::int64_t groups = 1;
};
/// x [batch, in, sizes...], weight [out, in / groups, kernel...], bias [out] or empty. 1 to 3 spatial dimensions.
Value conv(const Value& x, const Value& weight, const Value& bias, const ConvOptions& options = {});
/// x [batch, in, sizes...], weight [in, out / groups, kernel...], bias [out] or empty: the adjoint of conv.
/// `result_padding` adds to the end of each result size, to choose among the sizes that conv maps to x's.
Value conv_transpose(const Value& x, const Value& weight, const Value& bias, const ConvOptions& options = {},
                     const Spatial& result_padding = {});

// ---- pooling of [batch, channels, sizes...] ------------------------------------------------------------------------
/// An empty stride means the kernel's size.
struct PoolOptions {
  Spatial kernel{}, stride{}, padding{}, dilation{};
  bool ceil = false;          // round the number of windows up rather than down
  bool count_padding = true;  // for averages: padding counts as elements
  std::int64_t divisor = 0;   // for averages: the divisor of the sums; 0: the number of elements
  Spatial padding_after{};    // at the end of each dimension; empty: like `padding`
};
struct MaxPoolResult {
  Value values, indices;  // indices into the flattened spatial input, int64
};
MaxPoolResult max_pool_with_indices(const Value& x, const PoolOptions& options);
Value max_pool(const Value& x, const PoolOptions& options);
Value avg_pool(const Value& x, const PoolOptions& options);
Value adaptive_avg_pool(const Value& x, const Spatial& sizes);

// ---- indexing; an index out of range is an IndexError --------------------------------------------------------------
Value gather(const Value& x, Dim dim, const Value& index);
Value scatter_add(const Value& x, Dim dim, const Value& index, const Value& source);
/// Takes slices of `dim`, which is replaced by the dimensions of `index`.
Value select(const Value& x, Dim dim, const Value& index);
Value select_add(const Value& x, Dim dim, const Value& index, const Value& source);
/// [...] of class indices -> [..., classes], 1 at the class; all 0 where the index is out of range.
Value one_hot(const Value& index, std::int64_t classes, DType dtype = DType::I64);

// ---- creation ------------------------------------------------------------------------------------------------------
Value from_data(TensorData data, const Device& device);
Value to_device(const Value& x, const Device& device);
Value full(const Shape& shape, const Scalar& value, const Device& device, DType dtype = DType::F32);
Value zeros(const Shape& shape, const Device& device, DType dtype = DType::F32);
Value ones(const Shape& shape, const Device& device, DType dtype = DType::F32);
Value zeros_like(const Value& x);
Value ones_like(const Value& x);
/// start, start + step, ... up to `end`, which is excluded.
Value arange(const Scalar& start, const Scalar& end, const Scalar& step, const Device& device,
             DType dtype = DType::I64);
/// Samples from the device's stream, or from `key`.
Value uniform(const Shape& shape, double low, double high, const Device& device, DType dtype = DType::F32,
              std::optional<Key> key = {});
Value normal(const Shape& shape, double mean, double deviation, const Device& device, DType dtype = DType::F32,
             std::optional<Key> key = {});
Value bernoulli(const Shape& shape, double probability, const Device& device, DType dtype = DType::F32,
                std::optional<Key> key = {});
/// Zeroes elements with the probability given and scales the others by 1 / (1 - probability).
Value dropout(const Value& x, double probability, std::optional<Key> key = {});

// ---- normalisation and losses --------------------------------------------------------------------------------------
Value softmax(const Value& x, Dim dim);
Value log_softmax(const Value& x, Dim dim);
/// Normalises over the trailing dimensions that weight and bias have. One of these may be empty: it counts as 1 or 0.
Value layer_norm(const Value& x, const Value& weight, const Value& bias, double epsilon = 1e-5);
/// logits [batch, classes], targets [batch] of class indices -> [batch]: the terms whose mean is cross_entropy()
Value cross_entropy_each(const Value& logits, const Value& targets);

// ---- custom operations ---------------------------------------------------------------------------------------------
Values custom(Ref<const CustomOp> op, Inputs in);

// ---- slopes that rows of elementwise.def name, but for those that are rows ------------------------------------------
Value gelu_tanh_slope(const Value& x);
Value silu_slope(const Value& x);
Value mish_slope(const Value& x);
Value smooth_l1_slope(const Value& x, const Value& y);  // d smooth_l1(x, y) / dx
Value i1_slope(const Value& x);
Value sinc_slope(const Value& x);
Value xlogy_slope(const Value& x, const Value& y);    // d xlogy(x, y) / dx
Value pow_slope(const Value& x, const Value& y);      // d pow(x, y) / dx
Value larger_weight(const Value& x, const Value& y);  // 1 where x is larger, 1/2 where they are equal

}  // namespace kiln

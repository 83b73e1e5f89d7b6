// Quantised tensors in products: (q - zero) * scale as whole numbers and a factor, so that sums are sums of int32.
#pragma once
#include <optional>

#include "kiln/compile/lowering.hpp"

namespace kiln::compile {

struct Scaled {
  View whole;   // int32
  View factor;  // float32, of the same shape
};
/// A view of 8-bit integers, less their zero points, times a scale; nothing if it is not one.
std::optional<Scaled> scaled_whole(const Program& program, const View& view);

/// Whether the factor is the same along a dimension.
bool is_same_along(const View& factor, int dim);

/// Whether a sum of so many products of such numbers fits into int32.
bool sums_fit(std::int64_t terms);

/// Float32 sums are whole sums times both factors, which have their shape.
View rescaled(const View& sums, const View& a, const View& b);

}  // namespace kiln::compile

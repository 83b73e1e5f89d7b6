// Pools of [batch, channels, sizes...] beyond those that functions.hpp has, in 1, 2 and 3 dimensions.
#pragma once
#include "kiln/ops/functions.hpp"

namespace kiln {

/// The greatest elements of as many about equal parts of each dimension as `sizes` says.
MaxPoolResult adaptive_max_pool_with_indices(const Value& x, const Spatial& sizes);
Value adaptive_max_pool(const Value& x, const Spatial& sizes);

/// Zeros of the spatial `sizes` with x's elements at the places that `indices`, as max_pool gives them, name in the
/// flattened sizes. Where several name one place, the last one stands there. Throws IndexError.
Value max_unpool(const Value& x, const Value& indices, const Spatial& sizes);

/// The p-norm of each window: sum(|x|^p)^(1/p), for p > 0. Its gradient where a window holds zeros alone is 0.
Value lp_pool(const Value& x, double p, const PoolOptions& options);

/// Max pooling over windows of `kernel` whose places are drawn such that the result has `sizes`: pseudo-random
/// sequences of overlapping regions (Graham, Fractional Max-Pooling, 2014), the same for all images and channels.
Value fractional_max_pool(const Value& x, const Spatial& kernel, const Spatial& sizes, std::optional<Key> key = {});

// ---- gradients, for those who write their own ----------------------------------------------------------------------
/// Of max_pool in x, whose spatial sizes are `sizes`: each element is added at the place that its index names.
Value max_pool_backward(const Value& gradient, const Value& indices, const Spatial& sizes);
/// Of avg_pool in x, whose spatial sizes are `sizes`.
Value avg_pool_backward(const Value& gradient, const Spatial& sizes, const PoolOptions& options);

}  // namespace kiln

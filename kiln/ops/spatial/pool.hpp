// Pools of [batch, channels, sizes...] beyond those in functions.hpp, in 1, 2 and 3 dimensions.
#pragma once
#include "kiln/ops/functions.hpp"

namespace kiln {

/// The greatest element of each part, where each dimension is split into as many nearly equal parts as `sizes` says.
MaxPoolResult adaptive_max_pool_with_indices(const Value& x, const Spatial& sizes);
Value adaptive_max_pool(const Value& x, const Spatial& sizes);

/// Zeros of the spatial `sizes` with x's elements at the positions in `indices` (those of max_pool), which count in the
/// flattened sizes. Where several elements have one position, the last one is taken. Throws IndexError.
Value max_unpool(const Value& x, const Value& indices, const Spatial& sizes);

/// The p-norm of each window: sum(|x|^p)^(1/p), for p > 0. Its gradient is 0 where a window holds only zeros.
Value lp_pool(const Value& x, double p, const PoolOptions& options);

/// Max pooling over windows of `kernel` at random positions that give the result the sizes `sizes`: pseudo-random
/// sequences of overlapping regions (Graham, Fractional Max-Pooling, 2014), the same for all images and channels.
Value fractional_max_pool(const Value& x, const Spatial& kernel, const Spatial& sizes, std::optional<Key> key = {});

// ---- gradients, for user-defined gradients ------------------------------------------------------------------------
/// The gradient of max_pool in x, whose spatial sizes are `sizes`: each element is added at the position of its index.
Value max_pool_backward(const Value& gradient, const Value& indices, const Spatial& sizes);
/// The gradient of avg_pool in x, whose spatial sizes are `sizes`.
Value avg_pool_backward(const Value& gradient, const Spatial& sizes, const PoolOptions& options);

}  // namespace kiln

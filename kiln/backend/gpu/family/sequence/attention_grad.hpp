// The kernels of op::AttentionGrad share these types.
#pragma once
#include "kiln/backend/gpu/family/sequence/attention_warps.hpp"

namespace kiln::gpu::family {

/// A gradient reads this besides q, k, v, mask and bias: the gradient of the output, and two numbers per query.
struct Given {
  Given(Builder& b, AttentionParameters& p);
  Sequence grad;
  Buffer log_sum, delta;
  Expr chunks, tiles;
};

/// The two numbers of a query; 0 if it does not exist.
struct OfQuery {
  Expr shift, delta;
  OfQuery(Builder& b, const AttentionParameters& p, const Given& given, const Expr& batch, const Expr& head,
          const Expr& query);
};

/// Gives the gradients of q, k and v the memory of one tensor if q, k and v are parts of one, as a projection makes
/// them: then Cat, which joins the gradients again, finds them in place. Returns false, with nothing done, if they are
/// not.
bool allocate_together(Gpu& gpu, Call call, std::vector<Array>& made);

/// The gradient of q, or those of k and v, by matrices that warps hold, for heads that are at most kWidest wide. A block's
/// rows are queries, or, with `of_keys`, keys; it goes over all of the others that they see, or that see them.
struct MatrixGradKernel {
  AttentionKey key;
  bool of_keys;
  int width, values;  // of q and k, and of v: powers of two, at least kMatrixSide
  Loading q, k, v, grad;
  bool again;  // recomputes results that are NaN, without hidden elements
  int rows = WarpRows::kWarps * WarpRows::kRows, columns = WarpRows::kColumns;  // rows and columns of a block's results

  static constexpr std::int64_t kWidest = WarpRows::kColumns;
  Kernel kernel() const;
};

}  // namespace kiln::gpu::family

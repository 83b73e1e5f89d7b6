// The kernel of op::Attention for devices whose warps hold matrices.
#pragma once
#include "kiln/backend/gpu/family/sequence/attention_warps.hpp"

namespace kiln::gpu::family {

struct MatrixAttentionKernel {
  AttentionKey key;
  int rows;            // queries of a block: 64 or 128
  int depth, columns;  // of queries and keys, and of the values of a block: powers of two, at least kMatrixSide
  Loading q, k, v;
  bool again;  // recomputes results that are NaN, without hidden elements

  /// The groups of queries of each warp.
  int groups() const { return rows / (WarpRows::kWarps * WarpRows::kRows); }
  Kernel kernel() const;
};

/// Do the matrices of two groups of queries fit into a warp's registers, for queries and values of these widths?
bool two_groups_fit(std::int64_t width, std::int64_t values);
/// The queries of a block: two groups for each warp, which share what it loads, where they fit and there are blocks enough for
/// the device.
int queries_by_matrices(const Gpu& gpu, std::int64_t heads, std::int64_t queries, std::int64_t width, int columns);
/// The kernel whose blocks have way.rows queries, for queries of that width and tensors that are loaded like that.
MatrixAttentionKernel matrix_attention(const AttentionKey& key, const AttentionWay& way, std::int64_t width,
                                       int columns, const std::array<Loading, 3>& loadings, bool again);
/// Has the device what the kernel needs for queries of that width?
bool attends_by_matrices(const Gpu& gpu, const AttentionKey& key, std::int64_t width);

}  // namespace kiln::gpu::family

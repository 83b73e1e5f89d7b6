// Attention: scaled dot-product attention and its gradients as a library of the device receives them.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kiln/backend/gpu/borrowed.hpp"
#include "kiln/core/dtype.hpp"

namespace kiln::gpu {

/// Describes op::Attention without mask, bias and cap: q [batch, heads, queries, width], k [batch, kv_heads, keys,
/// width], v [batch, kv_heads, keys, values], out [batch, heads, queries, values], all of `dtype`; and log_sum [batch,
/// heads, queries], row-major, of the type in which such elements are computed. Or describes its gradients, all of
/// `dtype`.
struct Attention {
  enum class Kind : std::uint8_t { Forward, Gradient };  // computes out and log_sum; or the gradients of q, k and v
  using Tensor = BorrowedTensor;

  Kind kind = Kind::Forward;
  DType dtype = DType::F32;
  bool causal = false;      // the last query is aligned with the last key
  std::int64_t window = 0;  // see op::Attention; 0: none
  double scale = 1;
  Tensor q{}, k{}, v{}, out{};
  std::byte* log_sum = nullptr;
  Tensor grad{}, q_grad{}, k_grad{}, v_grad{};  // for Gradient; `grad`, of out, is given
  std::byte* workspace = nullptr;               // workspace that may be overwritten meanwhile; or null
  std::int64_t workspace_bytes = 0;
};

}  // namespace kiln::gpu

// Attention: scaled dot-product attention and its gradients as a library of the device's takes them.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kiln/backend/gpu/lent.hpp"
#include "kiln/core/dtype.hpp"

namespace kiln::gpu {

/// op::Attention without mask, bias and cap: q [batch, heads, queries, width], k [batch, kv_heads, keys, width],
/// v [batch, kv_heads, keys, values], out [batch, heads, queries, values], all of `dtype`, and log_sum [batch, heads,
/// queries], row-major, in what such elements are computed in. Or its gradients, of all that is `dtype`.
struct Attention {
  enum class Kind : std::uint8_t { Forward, Gradient };  // makes out and log_sum; or those of q, k and v
  using Tensor = LentTensor;

  Kind kind = Kind::Forward;
  DType dtype = DType::F32;
  bool causal = false;      // the last query stands beside the last key
  std::int64_t window = 0;  // 0: none; as op::Attention's
  double scale = 1;
  Tensor q{}, k{}, v{}, out{};
  std::byte* log_sum = nullptr;
  Tensor grad{}, q_grad{}, k_grad{}, v_grad{};  // of Gradient: that of out is given
  std::byte* room = nullptr;                    // memory that may be written meanwhile, if there is any
  std::int64_t room_bytes = 0;
};

}  // namespace kiln::gpu

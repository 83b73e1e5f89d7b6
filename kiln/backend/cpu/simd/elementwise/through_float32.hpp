// Half types without kernels of their own: computed in float32 on copies, rounded once at the end.
#pragma once
#include <algorithm>
#include <iterator>

#include "kiln/backend/cpu/kernel.hpp"

namespace kiln::cpu::simd {

inline bool is_half(DType dtype) { return dtype == DType::F16 || dtype == DType::BF16; }

/// The tensor in a wider type, in the same memory order where it has no gaps. An absent operand stays absent.
Value widened(const Value& value, DType dtype = DType::F32);
/// Gives `result` the numbers and the memory order of `wide`, which has no gaps.
void narrow(const Value& wide, Value& result);

/// `kernel` runs the op on float32 in place of its first result's type; what has another type stays as it is.
template <class Op>
bool through_float32(const Op& op, Call call, bool (*kernel)(const Op&, Call)) {
  Value in[3], out[2];
  KILN_CHECK(call.in.size() <= std::size(in) && call.out.size() <= std::size(out));
  Value& narrowed = call.out[0];
  std::transform(call.in.begin(), call.in.end(), in, [&](const Value& value) {
    return !value.empty() && value.dtype() == narrowed.dtype() ? widened(value) : value;
  });
  std::copy(call.out.begin(), call.out.end(), out);
  out[0] = Value(make_ref<Node>(Desc{narrowed.shape(), DType::F32}, narrowed.device()));
  if (!kernel(op, {{in, call.in.size()}, {out, call.out.size()}})) return false;
  narrow(out[0], narrowed);
  return true;
}

}  // namespace kiln::cpu::simd

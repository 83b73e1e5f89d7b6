#include "kiln/backend/gpu/kernel/lower/element.hpp"

namespace kiln::gpu::lower {

Expr value_of_bits(const Expr& bits, DType dtype) {
  Builder& k = bits.builder();
  const int size = static_cast<int>(size_of(dtype)) * 8, spare = 32 - size;
  switch (dtype) {
    case DType::F16: return k.call("from_bits_of_f16", dtype, {bits & 0xffff});
    case DType::BF16: return k.call("from_bits_of_bf16", dtype, {bits});
    case DType::I8:
    case DType::I16: return ((bits << spare).bits_as(DType::I32)) >> spare;
    default: return (bits & ((std::int64_t{1} << size) - 1)).bits_as(DType::I32);
  }
}

Expr bits_of_value(const Expr& value, DType dtype) {
  Builder& k = value.builder();
  if (dtype == DType::F16) return k.call("bits_of_f16", dtype, {value});
  if (dtype == DType::BF16) return k.call("bits_of_bf16", dtype, {value});
  return value.bits_as(DType::U32) & (size_of(dtype) == 1 ? 0xff : 0xffff);
}

}  // namespace kiln::gpu::lower

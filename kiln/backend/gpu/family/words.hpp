// The words of random streams (kiln/core/random.hpp) in kernels.
#pragma once
#include "kiln/backend/gpu/gpu.hpp"

namespace kiln::gpu::family {

/// Parameters of a kernel that identify a stream.
struct KeyWords {
  Expr low, high;
  explicit KeyWords(Builder& k) : low(k.number(DType::U32)), high(k.number(DType::U32)) {}
  static void append(std::vector<Argument>& arguments, const Value& key) {
    const auto bits = static_cast<std::uint64_t>(key.scalar().to<std::int64_t>());
    arguments.emplace_back(static_cast<std::int64_t>(bits & 0xffffffffu));
    arguments.emplace_back(static_cast<std::int64_t>(bits >> 32));
  }
};

/// The halves of an element's index, which is an int32 or an int64 and not negative.
inline Expr low_half(const Expr& i) { return i.as(DType::U32); }
inline Expr high_half(Builder& k, const Expr& i) {
  return i.type() == DType::I64 ? (i >> 32).as(DType::U32) : k.literal(DType::U32, 0);
}

/// Words 4 * block to 4 * block + 3 of a stream.
inline std::vector<Expr> words_of(Builder& k, const KeyWords& key, const Expr& block) {
  const Expr zero = k.literal(DType::U32, 0);
  return k.call_all("philox", DType::F32, {low_half(block), high_half(k, block), zero, zero, key.low, key.high});
}

}  // namespace kiln::gpu::family

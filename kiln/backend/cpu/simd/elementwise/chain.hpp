// Chains: elementwise functions of float32 one after the other, whose values stay in registers. A link is a function
// that gets eight vectors from the link before it, "at hand", and jumps to the next with what it makes of them.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "kiln/backend/cpu/simd/elementwise/reciprocal.hpp"
#include "kiln/core/dtype.hpp"
#include "kiln/ops/elementwise/elementwise_ops.hpp"
#include "kiln/ops/reduce/reduce_ops.hpp"

namespace kiln::cpu::simd {

/// What links find or leave elsewhere than at hand.
struct ChainOperand {
  std::byte* data = nullptr;
  std::size_t moves = 0;  // all ones: a run, of which each block has its part; 0: a block, the same for all
  bool uniform = false;   // a number, again and again
  bool inverted = false;  // it holds one by a divisor
  bool streams = false;   // results go past the caches
  bool fetches = false;   // operands come from beyond the nearest caches: a run is asked for some blocks ahead
  Reciprocal reciprocal;  // of a number
};

/// One function of a chain and the places that it needs.
struct Link {
  void (*function)() = nullptr;
  void (*block)() = nullptr;  // what `function` calls, if its work is done in memory: a UnaryBlock or BinaryBlock
  std::array<std::uint16_t, 2> in{};
};

/// Which operand is at hand; the others come from the link's places, in order.
enum class InRegisters : std::uint8_t { First, Second, Third };

/// The links that there are for the machine at hand. A null `function` says that there is none.
struct Links {
  std::size_t width;  // elements of a block
  Link (*unary)(op::UnaryFn);
  Link (*binary)(op::BinaryFn, InRegisters);
  Link (*where)(InRegisters);
  Link (*load)();
  Link (*store)(DType);        // float32, float16, bfloat16, bool or bytes
  Link (*round)(DType);        // to float16, bfloat16, bool or bytes, and back to float32
  Link (*fold)(op::ReduceFn);  // into FoldLanes, which lie where its place says
  Link (*end)();
  void (*fill)(float* block, float number);
  /// Runs the parts of a chain on `count` elements, at least a block. Where the last elements fill no block, it takes
  /// some that were done before once more: whose results lie where operands do must leave them out.
  void (*run)(std::span<const Link* const> parts, const ChainOperand* places, std::size_t count);
};
const Links& links();

/// The place that links may use for themselves: two blocks.
inline constexpr std::uint16_t kOwnPlace = 0;

}  // namespace kiln::cpu::simd

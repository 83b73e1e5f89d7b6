// Where tiles come from: tensors, whose elements are read in runs, and numbers, which fill a vector.
#pragma once
#include <cstddef>

#include "kiln/backend/cpu/simd/elementwise/fused_tiles.hpp"

namespace kiln::cpu::simd {

/// The memory of a Feed of any type.
inline constexpr std::size_t kFeedBytes =
    (sizeof(Feed<std::uint64_t>) + kVectorBytes - 1) / kVectorBytes * kVectorBytes;

/// A tensor among the inputs, whatever the size of its elements.
class TileSource {
 public:
  TileSource(const Operand& operand, std::size_t input, std::size_t size, std::byte* place)
      : input(input), size_(size) {
    visit([&]<class T>(Feed<T>*& feed) { feed = new (place) Feed<T>(operand); });
  }
  std::int64_t limit(std::int64_t at, std::int64_t count) {
    visit([&](const auto* feed) { count = feed->limit(at, count); });
    return count;
  }
  void read(std::int64_t at, std::int64_t count, Tile& tile) {
    visit([&](auto* feed) {
      const auto run = feed->read(at, count);
      tile.data = run.data;
      tile.step = run.step;
    });
  }

  const std::size_t input;

 private:
  template <class F>
  void visit(F&& f) {
    switch (size_) {
      case 1: return f(bytes_);
      case 2: return f(halves_);
      case 4: return f(words_);
      default: return f(longs_);
    }
  }

  std::size_t size_;
  union {
    Feed<std::uint8_t>* bytes_;
    Feed<std::uint16_t>* halves_;
    Feed<std::uint32_t>* words_;
    Feed<std::uint64_t>* longs_;
  };
};

/// Writes n elements of `size` bytes that are all like the first.
void repeat_first(void* elements, std::size_t size, std::int64_t n);

/// Fills a vector with a number that is operand k of a step; gives its type. The planner gives every use of a number an
/// input of its own, so that a divisor can be inverted in its place, and a number beside halves that are computed in
/// float32 is none.
DType set_number(const TileStep& step, std::size_t k, const Scalar& number, DType dtype, std::byte* vector, Tile& tile);

/// The tensors among a call's operands, in their own types.
inline SpareVector<Operand> tensors_of(const FusedCall& call) {
  SpareVector<Operand> tensors;
  tensors.reserve(call.in.size());
  for (const Value& value : call.in)
    if (!value.is_scalar()) tensors.emplace_back(value, call.whole, value.dtype());
  return tensors;
}

/// Runs the only step of a program without tiles (single_step.cpp). Returns false, with nothing done, where the step does
/// not read the elements of its operands, and make those of its result, in the types that they have in memory.
bool run_single_step(const TileStep& step, const FusedCall& call, std::int64_t grain);

}  // namespace kiln::cpu::simd

// Programs of elementwise steps, and single elementwise ops, which are programs of one step. Two executors run them:
//
//   chains (fused_chain.hpp)  Values stay in registers from step to step. Programs in float32, halves and booleans, which are
//                             all computed in float32; integers of up to four bytes may become float32 first, and float32
//                             may become bytes at the end. A product's epilogue is always a chain.
//   tiles (fused_tiles.hpp)   A step is one call of its row's function for a tile (tile_step.cpp), and what lies between
//                             steps is in L1. All other programs, and a single op of any type: it has nothing to keep in
//                             registers, and its function goes through memory once (single_step.cpp).
//
//   element type               functions of tiles
//   float64, float32           unary.cpp, binary.cpp: vectors
//   float16, bfloat16          halves.cpp, for a single op of a few instructions; otherwise those of float32, on converted
//                              tiles, rounded after each step
//   int64 to int8, uint16, uint8, bool   integer.cpp: loops that the compiler makes vectors of
//   uint32                     those of int64, on converted tiles
//   uint64                     none: the reference runs it
//   op::Where, op::Cast        select.cpp and convert.cpp, for elements of any type
//
// Each step is the function of its row, so that fused and unfused give the same bits, and the reductions at a program's
// end (folding.hpp) fold in the same order as when they run alone. Three programs have a kernel of their own: a maximum
// and a minimum with numbers (clamp.hpp), sums of squares and of what is no NaN (mapped_sum.hpp), and epilogues that a
// product's kernel computes itself (simple_epilogue.hpp).
#pragma once
#include <algorithm>
#include <bit>
#include <span>
#include <vector>

#include "kiln/backend/cpu/pieces.hpp"
#include "kiln/backend/cpu/simd/elementwise/operand.hpp"
#include "kiln/backend/cpu/simd/reduce/folding.hpp"
#include "kiln/backend/cpu/simd/reduce/reduce.hpp"
#include "kiln/core/parallel.hpp"
#include "kiln/ops/planned/fused.hpp"

namespace kiln::cpu::simd {

/// Memory that a thread keeps between calls, aligned to a vector.
struct Scratch {
  std::vector<std::byte> bytes;
  std::byte* of(std::size_t size) {
    if (bytes.size() < size + kVectorBytes) bytes.resize(size + kVectorBytes);
    const auto address = reinterpret_cast<std::uintptr_t>(bytes.data());
    return bytes.data() + (kVectorBytes - address % kVectorBytes) % kVectorBytes;
  }
};

/// The cost of a step for one element, as a multiple of the cost of a few instructions.
inline constexpr std::int64_t kCostly = 16;
std::int64_t cost_of(const op::Unary& op);
std::int64_t cost_of(const op::Binary& op);
inline std::int64_t cost_of(const op::Where&) { return 1; }
inline std::int64_t cost_of(const op::Cast&) { return 1; }
/// Elements that are worth a thread's while, whose steps cost so much together and of which the widest has so many
/// bytes.
inline std::int64_t grain_of(std::int64_t cost, std::size_t widest) {
  const int shift = std::countr_zero(widest);
  return std::clamp<std::int64_t>(262144 / (2 + cost) >> shift, 2 * kBlock, kMinBytesPerThread >> shift) / kBlock *
         kBlock;
}

/// Where a program's output goes, and whether operands lie there. One without memory goes where each piece says.
struct FusedResult {
  Array array;
  bool in_place = false;
};

/// The only reduction at a program's end, over any dimensions, of the one output that has no memory: made a part at a
/// time, as the reduction asks for it, and read while it is in the cache.
struct FusedReduction {
  op::Reduce op;
  DType dtype;  // of what it reads
  Value& result;

  template <class F>
  void run(const Array& whole, F&& make_worker) const {
    const Array x{.data = nullptr, .dtype = dtype, .shape = whole.shape, .strides = whole.strides};
    reduce(
        op, x,
        [&](FunctionRef<void(FindPart)> use) {
          static thread_local Scratch scratch;
          auto&& worker = make_worker();
          use([&](const ReducedPart& part) { return make(part, worker, scratch); });
        },
        result);
  }

 private:
  template <class Worker>
  FoundPart make(const ReducedPart& part, Worker& worker, Scratch& scratch) const {
    constexpr std::int64_t kGap = 16;  // elements, where there are some in memory
    const auto size = static_cast<std::int64_t>(size_of(dtype));
    const bool along = part.step == 1;  // a column is a run of elements, otherwise a row is
    const std::int64_t runs = along ? part.columns : part.rows, length = along ? part.rows : part.columns;
    const std::int64_t distance = along ? part.column_stride : part.step,
                       kept = distance == length ? length : length + kGap;
    std::byte* const made = scratch.of(static_cast<std::size_t>(runs * kept * size));
    if (kept == length) {
      worker(part.first, part.first + runs * length, nullptr, made);
    } else {
      for (std::int64_t i = 0; i < runs; ++i) {
        const std::int64_t begin = part.first + i * distance;
        worker(begin, begin + length, nullptr, made + i * kept * size);
      }
    }
    return {made, along ? 1 : kept, along ? kept : 1};
  }
};

/// What a program is run on and what it fills.
struct FusedCall {
  Inputs in;
  std::span<const DType> inputs;  // the type that each operand is read as
  Array whole;                    // shape and order of the results; no memory
  std::span<const op::Program::Fold> folds{};
  std::span<const FusedResult> results{};  // the program's outputs
  FusedReductions* folding = nullptr;      // what folds at its end, if anything does; or
  const FusedReduction* reduction = nullptr;
  bool streams = false;  // results go past the caches, unless they lie where operands do
  bool fetches = false;  // operands come from beyond the nearest caches

  /// Computes all elements in pieces of about `grain`: make_worker() gives a thread what it calls with
  /// (begin, end, lanes, made): lanes of the program's folds, and where an output without memory goes, or null.
  template <class F>
  void each_piece(std::int64_t grain, F&& make_worker) const {
    if (folding) return folding->run(grain, make_worker);
    if (reduction) return reduction->run(whole, make_worker);
    parallel_for(whole.numel(), grain,
                 [&](std::int64_t begin, std::int64_t end) { make_worker()(begin, end, nullptr, nullptr); });
  }
};

}  // namespace kiln::cpu::simd

// Programs of elementwise steps: as a chain, whose values stay in registers (fused_chain.hpp), or else tile by tile
// (fused_tiles.hpp). Each step is the function of its row that the op alone would run, so that fused and unfused give
// the same bits, and the reductions at a program's end (folding.hpp) fold in the same order. Half types are computed in
// single precision and rounded after each step, as they are when each is stored.
#pragma once
#include <vector>

#include "kiln/backend/cpu/simd/elementwise/operand.hpp"
#include "kiln/backend/cpu/simd/reduce/folding.hpp"
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

/// Where a program's output goes, and whether operands lie there.
struct FusedResult {
  Array array;
  bool in_place = false;
};

/// What a program is run on and what it fills.
struct FusedCall {
  const op::Program& program;
  Inputs in;
  Array whole;                         // shape and order of the results; no memory
  SpareVector<FusedResult> results{};  // the program's outputs
  Folding* folding = nullptr;          // what folds at its end, if anything does
  bool streams = false;                // results go past the caches, unless they lie where operands do
  bool fetches = false;                // operands come from beyond the nearest caches

  /// Computes all elements in pieces of about `grain`: make_worker() gives a thread what it calls with
  /// (begin, end, lanes), which are those of the program's folds; null where nothing is folded.
  template <class F>
  void each_piece(std::int64_t grain, F&& make_worker) const {
    if (folding) return folding->run(grain, make_worker);
    parallel_for(whole.numel(), grain,
                 [&](std::int64_t begin, std::int64_t end) { make_worker()(begin, end, nullptr); });
  }
};

}  // namespace kiln::cpu::simd

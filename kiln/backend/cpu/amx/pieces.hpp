// Divides products on tiles into pieces for the threads, and provides a thread's scratch memory.
#pragma once
#include <cstdint>

#include "kiln/backend/cpu/amx/tiles.hpp"
#include "kiln/backend/cpu/pieces.hpp"

namespace kiln::cpu::amx {

/// The terms of the sums that a piece processes at a time.
inline constexpr std::int64_t kDepth = 256;  // bench: suite matmul_*_bf16

/// The rows and columns of a piece: multiples of kBlock, unless they are all.
struct PieceSize {
  std::int64_t rows, columns;
};

/// Returns the cost of a product in floating-point operations. Thin matrices are read and packed like others.
constexpr std::int64_t cost(std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  constexpr std::int64_t kThin = 64;  // bench: suite matmul_*_bf16, gpt2_124M_train_bf16
  return 2 * depth * (rows + kThin) * (columns + kThin);
}
inline constexpr std::int64_t kMinOpsPerPiece = 1 << 24;  // some 10 us. bench: suite matmul_*_bf16

/// Returns the pieces of `matrices` products [m, k] x [k, n]. They depend on the sizes alone.
PieceSize cut(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t matrices);

/// Returns the calling thread's memory for `numbers` bfloat16 and `sums` float32. It grows to the largest request.
struct Scratch {
  std::uint16_t* numbers;
  float* sums;
};
Scratch scratch(std::int64_t numbers, std::int64_t sums);

}  // namespace kiln::cpu::amx

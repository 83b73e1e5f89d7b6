// How products on tiles are cut into pieces for the threads, and the memory that a thread works in.
#pragma once
#include <cstdint>

#include "kiln/backend/cpu/amx/tiles.hpp"
#include "kiln/backend/cpu/pieces.hpp"

namespace kiln::cpu::amx {

/// Terms of the sums that a piece takes at a time.
inline constexpr std::int64_t kDepth = 256;  // bench: suite matmul_*_bf16

/// Rows and columns of a piece, multiples of kBlock unless they are all there are.
struct Piece {
  std::int64_t rows, columns;
};

/// What a product costs, in floating-point operations: thin matrices are read and packed like others.
constexpr std::int64_t cost(std::int64_t rows, std::int64_t columns, std::int64_t depth) {
  constexpr std::int64_t kThin = 64;  // bench: suite matmul_*_bf16, gpt2_124M_train_bf16
  return 2 * depth * (rows + kThin) * (columns + kThin);
}
inline constexpr std::int64_t kWorthAPiece = 1 << 24;  // some 10 us. bench: suite matmul_*_bf16

/// Of so many products [m, k] x [k, n]. Depends on the sizes alone.
Piece cut(std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t matrices);

/// The calling thread's memory for `numbers` bfloat16 and `sums` float32, which grows to the largest ever asked for.
struct Scratch {
  std::uint16_t* numbers;
  float* sums;
};
Scratch scratch(std::int64_t numbers, std::int64_t sums);

}  // namespace kiln::cpu::amx

// The executors of products of matrices on vectors. matmul/choose.hpp says which of them computes a product.
#pragma once
#include "kiln/backend/cpu/algorithm.hpp"
#include "kiln/backend/cpu/epilogue.hpp"
#include "kiln/backend/cpu/product.hpp"

namespace kiln::cpu::simd {

/// How a product is made: as Dots, FewRows or ProductTiles, of itself or, if `transposed`, of c^T = b^T a^T.
struct ProductWay {
  bool transposed;
  Algorithm algorithm;
};

/// Computes a product, not empty, of float32, float64 or integers of 16 bits and more. Pieces go to `epilogue` where there
/// is one; false where they are not worth that, and nothing has happened then.
bool multiply_matrices(const Product& p, ProductWay way, const Epilogue* epilogue);

/// The most rows, or columns, of a product that multiply_few_halves computes.
inline constexpr std::int64_t kMostFewHalves = 4;  // bench: suite gpt2_124M_decode_bf16
/// Does the machine at hand convert halves of this type in registers?
bool multiply_converts(DType half);
/// Computes a product, not empty, of matrices of halves without a batch, with up to kMostFewHalves rows or columns.
void multiply_few_halves(Product p);

}  // namespace kiln::cpu::simd

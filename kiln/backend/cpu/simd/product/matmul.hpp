// The executors of matrix products on vectors. matmul/choose.hpp selects one of them for each product.
#pragma once
#include "kiln/backend/cpu/algorithm.hpp"
#include "kiln/backend/cpu/epilogue.hpp"
#include "kiln/backend/cpu/product.hpp"

namespace kiln::cpu::simd {

/// How a product is computed: by Dots, FewRows or ProductTiles, directly or, if `transposed`, as c^T = b^T a^T.
struct ProductWay {
  bool transposed;
  Algorithm algorithm;
};

/// Computes a product with at least one element, of float32, float64 or integers of 16 bits and more. Pieces go to
/// `epilogue` if there is one. Returns false, without any effect, if the pieces are too small for it.
bool multiply_matrices(const Product& p, ProductWay way, const Epilogue* epilogue);

/// The most rows, or columns, of a product that multiply_few_halves computes.
inline constexpr std::int64_t kMostFewHalves = 4;  // bench: suite gpt2_124M_decode_bf16
/// Whether this processor converts halves of this type in registers.
bool multiply_converts(DType half);
/// Computes a product with at least one element, of matrices of halves without a batch, with up to kMostFewHalves rows
/// or columns.
void multiply_few_halves(Product p);

}  // namespace kiln::cpu::simd

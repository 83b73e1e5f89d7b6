// Chooses the algorithm of a matrix product. All rules are in choose.cpp.
#pragma once
#include "kiln/backend/cpu/algorithm.hpp"
#include "kiln/backend/cpu/simd/product/matmul.hpp"

namespace kiln::cpu::matmul {

/// A product c [..., m, n] = a [..., m, k] b [..., k, n] with at least one element. The operands and the result have
/// one element type.
struct MatmulCase {
  DType dtype;
  std::int64_t m, n, k;
  bool in_batch;  // a or b has dimensions before its last two
  bool many_b;    // b has

  static MatmulCase of(const Value& a, const Value& b) {
    return {a.dtype(), a.dim(-2), b.dim(-1), a.dim(-1), a.rank() > 2 || b.rank() > 2, b.rank() > 2};
  }
};

/// Returns the algorithm of the product: FewHalves, AmxMatmul, OnednnMatmul, Float32, Int16, ProductTiles (see
/// choose_way()), or Reference.
Choice choose(const MatmulCase& c);

/// Returns how our own kernels compute the product, by the sizes and the layouts of the operands.
simd::ProductWay choose_way(const Product& p);

}  // namespace kiln::cpu::matmul

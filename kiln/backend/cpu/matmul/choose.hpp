// Which algorithm computes a product of matrices. All that chooses stands in choose.cpp.
#pragma once
#include <string_view>

#include "kiln/backend/cpu/algorithm.hpp"
#include "kiln/backend/cpu/simd/product/matmul.hpp"

namespace kiln::cpu::matmul {

/// A product c [..., m, n] = a [..., m, k] b [..., k, n], not empty, whose operands and result have one element type.
struct MatmulCase {
  DType dtype;
  std::int64_t m, n, k;
  bool in_batch;  // a or b has dimensions before its last two
  bool many_b;    // b has

  static MatmulCase of(const Value& a, const Value& b) {
    return {a.dtype(), a.dim(-2), b.dim(-1), a.dim(-1), a.rank() > 2 || b.rank() > 2, b.rank() > 2};
  }
};

struct Choice {
  Algorithm algorithm;
  std::string_view reason;
};

/// By whose kernels it is computed: FewHalves, AmxMatmul, OnednnMatmul, Float32, Int16, ProductTiles and its kin, about
/// which choose_way() says more, or Reference.
Choice choose(const MatmulCase& c);

/// How ProductTiles and its kin compute it: by the sizes and by how the operands lie.
simd::ProductWay choose_way(const Product& p);

}  // namespace kiln::cpu::matmul

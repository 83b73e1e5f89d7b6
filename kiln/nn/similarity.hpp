// Similarities of vectors, as modules without parameters.
#pragma once
#include "kiln/tensor/vector_norm.hpp"

namespace kiln::nn {

/// x . y / (|x| |y|) along `dim`.
struct CosineSimilarity {
  Dim dim = -1;
  double epsilon = 1e-8;  // the smallest norm used as a divisor

  template <int D, int E>
  auto forward(const Tensor<D>& x, const Tensor<E>& y) const {
    return cosine_similarity(x, y, dim, epsilon);
  }
};

/// The p-norm of x - y along the last dimension.
struct PairwiseDistance {
  double p = 2;

  template <int D, int E>
  auto forward(const Tensor<D>& x, const Tensor<E>& y) const {
    return pairwise_distance(x, y, p);
  }
};

}  // namespace kiln::nn

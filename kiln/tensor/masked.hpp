// Statistics of the elements where a mask is true: masked_mean(x, mask) over all, masked_mean(x, mask, 0, -1) along
// some dimensions; ops/reduce/masked.hpp has the contracts.
#pragma once
#include "kiln/ops/reduce/masked.hpp"
#include "kiln/tensor/tensor.hpp"

namespace kiln {

template <int D, std::integral... Dim>
inline constexpr int kMaskedRank = sizeof...(Dim) == 0 ? 0 : D - static_cast<int>(sizeof...(Dim));

#define KILN_MASKED(function, Result)                                                                                \
  template <int D, class K, int E, std::integral... Dim>                                                             \
  Tensor<kMaskedRank<D, Dim...>, Result> function(const Tensor<D, K>& x, const Tensor<E, Bool>& mask, Dim... dims) { \
    return Typed{function(x.value(), mask.value(), dims_or_all({dims...}, D))};                                      \
  }
KILN_MASKED(masked_sum, Arithmetic<K>)
KILN_MASKED(masked_prod, Arithmetic<K>)
KILN_MASKED(masked_mean, Float)
KILN_MASKED(masked_max, K)
KILN_MASKED(masked_min, K)
KILN_MASKED(masked_logsumexp, Float)
#undef KILN_MASKED

// The sum is divided by count - 1, or as the Correction says.
template <int D, class K, int E, std::integral... Dim>
Tensor<kMaskedRank<D, Dim...>> masked_var(const Tensor<D, K>& x, const Tensor<E, Bool>& mask, Correction correction,
                                          Dim... dims) {
  return Typed{masked_var(x.value(), mask.value(), dims_or_all({dims...}, D), correction.less)};
}
template <int D, class K, int E, std::integral... Dim>
Tensor<kMaskedRank<D, Dim...>> masked_std(const Tensor<D, K>& x, const Tensor<E, Bool>& mask, Correction correction,
                                          Dim... dims) {
  return Typed{masked_std(x.value(), mask.value(), dims_or_all({dims...}, D), correction.less)};
}
template <int D, class K, int E, std::integral... Dim>
auto masked_var(const Tensor<D, K>& x, const Tensor<E, Bool>& mask, Dim... dims) {
  return masked_var(x, mask, Correction{}, dims...);
}
template <int D, class K, int E, std::integral... Dim>
auto masked_std(const Tensor<D, K>& x, const Tensor<E, Bool>& mask, Dim... dims) {
  return masked_std(x, mask, Correction{}, dims...);
}
template <int D, class K, int E, std::integral... Dim>
Tensor<kMaskedRank<D, Dim...>> masked_norm(const Tensor<D, K>& x, const Tensor<E, Bool>& mask, double p, Dim... dims) {
  return Typed{masked_norm(x.value(), mask.value(), p, dims_or_all({dims...}, D))};
}
template <int D, class K, int E>
Tensor<D - 1> masked_median(const Tensor<D, K>& x, const Tensor<E, Bool>& mask, Dim dim) {
  return Typed{masked_median(x.value(), mask.value(), dim)};
}
template <int D, class K, int E>
Tensor<D - 1, Int> masked_argmax(const Tensor<D, K>& x, const Tensor<E, Bool>& mask, Dim dim) {
  return Typed{masked_argmax(x.value(), mask.value(), dim)};
}
template <int D, class K, int E>
Tensor<D - 1, Int> masked_argmin(const Tensor<D, K>& x, const Tensor<E, Bool>& mask, Dim dim) {
  return Typed{masked_argmin(x.value(), mask.value(), dim)};
}

#define KILN_MASKED_LINES(function, Result)                                                 \
  template <int D, class K, int E>                                                          \
  Tensor<D, Result> function(const Tensor<D, K>& x, const Tensor<E, Bool>& mask, Dim dim) { \
    return Typed{function(x.value(), mask.value(), dim)};                                   \
  }
KILN_MASKED_LINES(masked_softmax, Float)
KILN_MASKED_LINES(masked_softmin, Float)
KILN_MASKED_LINES(masked_log_softmax, Float)
KILN_MASKED_LINES(masked_cumsum, Arithmetic<K>)
KILN_MASKED_LINES(masked_cumprod, Arithmetic<K>)
#undef KILN_MASKED_LINES
template <int D, class K, int E>
Tensor<D> masked_normalize(const Tensor<D, K>& x, const Tensor<E, Bool>& mask, double p = 2, Dim dim = -1,
                           double epsilon = 1e-12) {
  return Typed{masked_normalize(x.value(), mask.value(), p, dim, epsilon)};
}

}  // namespace kiln

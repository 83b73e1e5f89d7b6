// What losses as modules have in common: forward() returns one number, by the loss's Reduction; forward_each() returns
// a loss per example.
#pragma once
#include <string_view>

#include "kiln/tensor/loss.hpp"

namespace kiln::nn {

/// The reduction of a loss's forward(). Throws ArgumentError for Reduction::None.
inline Reduction to_one_number(std::string_view loss, Reduction reduction) {
  require<ArgumentError>(reduction != Reduction::None, loss,
                         ": forward() gives one number; with Reduction::None call forward_each()");
  return reduction;
}

/// Defines both members of a loss by a function of kiln/tensor/loss.hpp: they take the function's operands; its options
/// are given here.
#define KILN_LOSS(Name, function, ...)                                                                            \
  template <class... Operands>                                                                                    \
  auto forward_each(const Operands&... operands) const                                                            \
      -> decltype(kiln::function<Reduction::None>(operands... __VA_OPT__(, ) __VA_ARGS__)) {                      \
    return kiln::function<Reduction::None>(operands... __VA_OPT__(, ) __VA_ARGS__);                               \
  }                                                                                                               \
  template <class... Operands>                                                                                    \
  Tensor<0> forward(const Operands&... operands) const {                                                          \
    constexpr bool kTakes = requires {                                                                            \
      requires !std::is_same_v<decltype(kiln::function<Reduction::Mean>(operands... __VA_OPT__(, ) __VA_ARGS__)), \
                               RefusedLoss>;                                                                      \
    };                                                                                                            \
    static_assert(kTakes,                                                                                         \
                  #Name ": forward() takes no tensors of these ranks and kinds; classes are Int, numbers Float"); \
    if constexpr (kTakes) {                                                                                       \
      switch (to_one_number(#Name, reduction)) {                                                                  \
        case Reduction::Sum: return kiln::function<Reduction::Sum>(operands... __VA_OPT__(, ) __VA_ARGS__);       \
        case Reduction::BatchMean:                                                                                \
            return kiln::function<Reduction::BatchMean>(operands... __VA_OPT__(, ) __VA_ARGS__);                  \
        default: return kiln::function<Reduction::Mean>(operands... __VA_OPT__(, ) __VA_ARGS__);                  \
      }                                                                                                           \
    } else {                                                                                                      \
      return {};                                                                                                  \
    }                                                                                                             \
  }

}  // namespace kiln::nn

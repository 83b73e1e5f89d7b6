// Gradients with less memory and more time: the values between the inputs and the results of a function are not kept,
// and the function runs again for its gradient (Chen et al., "Training deep nets with sublinear memory cost", 2016).
// For a strategy that needs no function see kiln/ops/scope/checkpointing.hpp.
#pragma once
#include <functional>
#include <utility>

#include "kiln/ops/functions.hpp"
#include "kiln/ops/scope/checkpointing.hpp"

namespace kiln {

/// Returns function(), whose results (up to three) have gradients in all tensors that it reads.
Values checkpoint_values(std::function<Values()> function);

namespace detail {

template <class T>
Values checkpointed(T&& result) {
  if constexpr (std::is_same_v<std::remove_cvref_t<T>, Values>) return std::forward<T>(result);
  else if constexpr (std::is_same_v<std::remove_cvref_t<T>, Value>) return {std::forward<T>(result)};
  else return {result.value()};
}

}  // namespace detail

/// Returns function(inputs...), a tensor, a Value or up to three Values, without keeping what its gradient needs: the
/// inputs and the function are kept, and backward() calls the function again. Gradients are the same bits as without.
///   x = checkpoint([block](const Tensor<3>& x) { return block.forward(x); }, x);
/// The function must do the same each time, and what it captures by reference must live as long as the graph; tensors
/// and modules are cheap to capture by value. The second call uses the random keys of the first (dropout zeroes the
/// same elements), and its Autocast, Float32Precision and Checkpointing; the running statistics of a BatchNorm are
/// updated once (capture it by reference: a copy has its own statistics). Captured parameters have gradients like the
/// inputs. Scopes nest, and gradients of gradients work. Throws AutodiffError, from backward(), where the second run
/// gives other shapes or types or uses other random numbers than the first.
template <class F, class... Inputs>
auto checkpoint(F function, const Inputs&... inputs) {
  using Result = std::remove_cvref_t<std::invoke_result_t<F&, const Inputs&...>>;
  Values results = checkpoint_values([function = std::move(function), ... inputs = inputs]() mutable {
    return detail::checkpointed(function(inputs...));
  });
  if constexpr (std::is_same_v<Result, Values>) return results;
  else return Result(std::move(results[0]));
}

}  // namespace kiln

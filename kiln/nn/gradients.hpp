// Gradients of a model, by parameter.
#pragma once
#include <map>
#include <string>

#include "kiln/autodiff/backward.hpp"
#include "kiln/nn/names.hpp"

namespace kiln {

/// The gradient of each parameter that took part in a loss, by the parameter's path. It is a value: it can be clipped,
/// averaged with others, sent to another thread.
struct [[nodiscard("gradients are returned, and stored nowhere else")]] GradientsParams {
  std::map<std::string, Value, std::less<>> by_path;

  /// Leaves out parameters that took no part.
  static GradientsParams from(const Gradients& gradients, const nn::ModuleView& model);
  /// Null if the parameter took no part.
  const Value* find(std::string_view path) const& {
    const auto found = by_path.find(path);
    return found == by_path.end() ? nullptr : &found->second;
  }
  const Value* find(std::string_view path) && = delete;  // it would outlive the gradients
};

/// auto [loss, grads] = value_and_grad(...)
template <class Loss>
struct [[nodiscard("gradients are returned, and stored nowhere else")]] ValueAndGrad {
  Loss loss;  // detached: its graph is released
  GradientsParams grads;
};

namespace nn {

/// Throws AutodiffError unless every parameter that is not frozen is tracked, and there is one.
void require_trainable(std::string_view function, const ModuleView& model);
/// value_and_grad() without the types.
ValueAndGrad<Value> value_and_grad(const ModuleView& model, FunctionRef<Value()> loss);
/// Like value_and_grad(), but passes each gradient with its parameter's path to `take` as soon as it is final, those of
/// parameters that are used late first (see OnFinal). Returns the loss.
Value differentiate(const ModuleView& model, FunctionRef<Value()> loss,
                    FunctionRef<void(const std::string& path, Value grad)> take);

/// The parameter type of a function that is called with a `const M&`; not a reference if it takes a copy.
template <class F, class M>
struct TakenAs {
  // Unknown: overloaded, or none or several parameters.
  using type = const std::conditional_t<std::is_void_v<M>, int, M>&;
};
template <class R, class C, class A>
struct TakenAs<R (C::*)(A), void> {
  using type = A;
};
template <class R, class C, class A>
struct TakenAs<R (C::*)(A) const, void> {
  using type = A;
};
template <class R, class A>
struct TakenAs<R (*)(A), void> {
  using type = A;
};
template <class R, class C, class A>
struct TakenAs<R (C::*)(A) noexcept, void> : TakenAs<R (C::*)(A), void> {};
template <class R, class C, class A>
struct TakenAs<R (C::*)(A) const noexcept, void> : TakenAs<R (C::*)(A) const, void> {};
template <class R, class A>
struct TakenAs<R (*)(A) noexcept, void> : TakenAs<R (*)(A), void> {};
template <class F, class M>
requires requires { &F::operator(); } struct TakenAs<F, M> : TakenAs<decltype(&F::operator()), void> {};
template <class F, class M>
requires requires { &F::template operator()<M>; }
struct TakenAs<F, M> : TakenAs<decltype(&F::template operator()<M>), void> {};
template <class F, class M>
requires std::is_function_v<F> struct TakenAs<F, M> : TakenAs<F*, void> {};
template <class F, class M>
requires(std::is_pointer_v<F> && std::is_function_v<std::remove_pointer_t<F>>) struct TakenAs<F, M> : TakenAs<F, void> {
};

}  // namespace nn

/// Calls f(model), whose result is a loss of rank 0, and differentiates by the model's parameters that are not frozen.
/// Throws AutodiffError if the model is not on an autodiff device, if the loss does not depend on it, or if all of it
/// is frozen.
template <class M, class F>
ValueAndGrad<Tensor<0>> value_and_grad(const M& model, F&& f) {
  constexpr bool kModule = Module<M>;
  static_assert(kModule, "value_and_grad: the model is no module: make it a plain struct of parameters and modules");
  constexpr bool kTakes = std::is_invocable_v<F&, const M&>;
  static_assert(kTakes, "value_and_grad: the function must take the model, as const Model&, and nothing else");
  static_assert(std::is_reference_v<typename nn::TakenAs<std::remove_cvref_t<F>, M>::type>,
                "value_and_grad: the function must take the model as const M&: what batch norm learns about a copy is "
                "lost");
  if constexpr (kTakes) {
    constexpr bool kLoss = std::is_same_v<std::remove_cvref_t<std::invoke_result_t<F&, const M&>>, Tensor<0>>;
    static_assert(kLoss, "value_and_grad: the function must return a Tensor<0>, the loss");
    if constexpr (kModule && kLoss) {
      auto [loss, grads] = nn::value_and_grad(model, [&] { return f(model).value(); });
      return {Tensor<0>(Typed{std::move(loss)}), std::move(grads)};
    }
  }
  return {};  // in programs that do not compile
}

}  // namespace kiln

// Operators of expressions over columns of operands.
#pragma once
#include <array>
#include <cstddef>
#include <utility>

#include "kiln/core/error/error.hpp"
#include "kiln/core/wrapping.hpp"
#include "kiln/ops/expression/tree.hpp"

namespace kiln::expr {

/// Calls f(t) for all t; the inner loop has a constant length, so that compilers vectorise it.
template <class F>
void for_all(std::size_t count, F f) {
  constexpr std::size_t kTogether = 16;
  std::size_t t = 0;
  for (; t + kTogether <= count; t += kTogether)
    for (std::size_t i = 0; i < kTogether; ++i) f(t + i);
  for (; t < count; ++t) f(t);
}

constexpr bool asks(Operator op) { return op >= Operator::Less && op <= Operator::NotEqual; }

/// a op b for numbers or words; a comparison returns a truth value.
template <Operator op, class T>
auto operate(T a, T b) {
  constexpr auto kLast = static_cast<T>(sizeof(T) * 8 - 1);  // the largest shift, whatever is asked for
  if constexpr (op == Operator::Add) return wrapping_add(a, b);
  else if constexpr (op == Operator::Subtract) return static_cast<T>(Wrapping<T>(a) - Wrapping<T>(b));
  else if constexpr (op == Operator::Multiply) return wrapping_multiply(a, b);
  else if constexpr (op == Operator::Less) return a < b;
  else if constexpr (op == Operator::LessEqual) return a <= b;
  else if constexpr (op == Operator::Greater) return a > b;
  else if constexpr (op == Operator::GreaterEqual) return a >= b;
  else if constexpr (op == Operator::Equal) return a == b;
  else if constexpr (op == Operator::NotEqual) return a != b;
  else if constexpr (std::is_floating_point_v<T>) {
    require<DTypeError>(op == Operator::Divide, "expression: '", symbol(op), "' takes no floats");
    return a / b;
  } else if constexpr (op == Operator::Divide) {
    if (b == 0) return T{0};
    if (std::is_signed_v<T> && b == static_cast<T>(-1)) return wrapping_negate(a);
    return static_cast<T>(a / b);
  } else if constexpr (op == Operator::And) return static_cast<T>(a & b);
  else if constexpr (op == Operator::Or) return static_cast<T>(a | b);
  else if constexpr (op == Operator::Xor) return static_cast<T>(a ^ b);
  else if constexpr (op == Operator::ShiftLeft) return static_cast<T>(Wrapping<T>(a) << (b & kLast));
  else if constexpr (op == Operator::ShiftRight) return static_cast<T>(a >> (b & kLast));
  else return T{0};  // an operator of one operand
}

/// Applies an operator to columns. A comparison writes words, any other operator the type of its operands.
template <class T>
using Operate = void (*)(std::size_t count, const T* a, const T* b, void* result);

template <class T>
Operate<T> operation(Operator op) {
  static constexpr auto kAll = []<std::size_t... i>(std::index_sequence<i...>) {
    return std::array<Operate<T>, sizeof...(i)>{[](std::size_t count, const T* a, const T* b, void* result) {
      constexpr auto kOp = static_cast<Operator>(i);
      using Result = std::conditional_t<asks(kOp), std::uint32_t, T>;
      Result* const to = static_cast<Result*>(result);
      for_all(count, [&](std::size_t t) { to[t] = operate<kOp>(a[t], b[t]); });
    }...};
  }(std::make_index_sequence<static_cast<std::size_t>(Operator::Select)>());
  return kAll[static_cast<std::size_t>(op)];
}

}  // namespace kiln::expr

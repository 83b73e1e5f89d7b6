// Elementwise ops grouped into one, so that what lies between them is never stored. Only the planner makes these.
#pragma once
#include <array>
#include <memory>
#include <optional>
#include <type_traits>
#include <variant>

#include "kiln/core/memo.hpp"
#include "kiln/ops/elementwise/elementwise_ops.hpp"
#include "kiln/ops/reduce/reduce_ops.hpp"

namespace kiln::op {

/// What programs are made of.
using Elementwise = std::variant<Unary, Binary, Where, Cast>;
template <class T>
inline constexpr bool is_elementwise = []<class... Ts>(std::type_identity<std::variant<Ts...>>) {
  return (std::is_same_v<T, Ts> || ...);
}(std::type_identity<Elementwise>());

/// What Fused computes: steps in order, each on inputs of the call or results of earlier steps. Every step's result has
/// the shape of the whole; inputs broadcast to it. At the end may stand reductions.
struct Program {
  /// Input i of the call, or the result of step i.
  struct Operand {
    enum From : std::uint8_t { Input, Result };
    From from = Input;
    std::uint16_t index = 0;
  };
  struct Step {
    Elementwise op;
    std::array<Operand, 3> in{};
    DType dtype = DType::F32;  // of the result
  };

  /// What kernels make of a program, once: T(program), whoever asks.
  template <class T>
  const T& made() const {
    return memo_.get<T>(0, [this] { return T(*this); });
  }
  /// The same where it depends on the device too: make(), once for each backend, which is known by its id().
  template <class T, class Make>
  const T& made(std::uint64_t backend, Make&& make) const {
    return memo_.get<T>(backend, make);
  }

  Shape shape;
  SpareVector<DType> inputs;  // the element type that each input is read as: a tensor's own, or what a number becomes
  SpareVector<Step> steps;
  /// A step's result, folded over some dimensions, which stay with size 1.
  struct Fold {
    std::uint16_t step;
    ReduceFn fn;
    Dims dims;  // ascending
    /// From which dimension on all are folded, where no others are.
    std::optional<int> kept(const Shape& shape) const;
  };
  SpareVector<std::uint16_t> outputs;  // the steps whose results are results of the call, in order
  SpareVector<Fold> folds;             // what its other results are

  /// Of a call, in order.
  std::vector<Desc> results() const;

 private:
  Memo memo_;
};

/// How many operands an elementwise op takes.
inline int arity(const Elementwise& op) {
  static constexpr int kArity[] = {1, 2, 3, 1};
  return kArity[op.index()];
}

/// A program has as many results as it likes; they are made by the planner and never inferred, and a tape never sees
/// them: gradients are those of the ops that were recorded.
struct Fused {
  static constexpr std::string_view kName = "fused";
  static constexpr Facts kFacts{Pattern::Composite, AutocastTo::Same, Bound::Memory, Rows::ByAttributes,
                                MayFail::Never};
  bool goes_by_rows(int axis) const;
  std::shared_ptr<const Program> program;
  bool streams = false;  // nobody reads its results before they have left the caches: store them past these
  Descs infer(Inputs in) const;
  Values expand(Inputs in) const;
  void vjp(Backward& backward) const;
};

}  // namespace kiln::op

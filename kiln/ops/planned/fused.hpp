// Elementwise ops grouped into one, so that intermediate results are never stored. Only the planner creates these.
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

/// The ops that programs consist of.
using Elementwise = std::variant<Unary, Binary, Where, Cast>;
template <class T>
inline constexpr bool is_elementwise = []<class... Ts>(std::type_identity<std::variant<Ts...>>) {
  return (std::is_same_v<T, Ts> || ...);
}(std::type_identity<Elementwise>());

/// Input i of the call, or the result of step i.
struct ProgramOperand {
  enum From : std::uint8_t { Input, Result };
  From from = Input;
  std::uint16_t index = 0;
};
struct ProgramStep {
  Elementwise op;
  std::array<ProgramOperand, 3> in{};
  DType dtype = DType::F32;  // of the result
};

/// The computation of Fused: steps in order, each on inputs of the call or results of earlier steps. Every step's
/// result has the program's shape; inputs broadcast to it. Reductions may follow at the end.
struct Program {
  /// A T(program) that kernels derive from the program, created once and cached.
  template <class T>
  const T& cached() const {
    return memo_.get<T>(0, [this] { return T(*this); });
  }
  /// A cached T that depends on the device too: make() runs once for each backend, identified by its id().
  template <class T, class Make>
  const T& cached(std::uint64_t backend, Make&& make) const {
    return memo_.get<T>(backend, make);
  }

  Shape shape;
  SpareVector<DType> inputs;  // the type each input is read as: a tensor's own, or the type a number is converted to
  SpareVector<ProgramStep> steps;
  /// A step's result, reduced over some dimensions, which stay with size 1.
  struct Fold {
    std::uint16_t step;
    ReduceFn fn;
    Dims dims;  // ascending
    /// The first reduced dimension, where exactly the dimensions from there on are reduced.
    std::optional<int> kept(const Shape& shape) const;
  };
  SpareVector<std::uint16_t> outputs;  // the steps whose results are results of the call, in order
  SpareVector<Fold> folds;             // the remaining results of the call

  /// The call's results, in order.
  std::vector<Desc> results() const;

 private:
  Memo memo_;
};

/// The number of operands of an elementwise op.
inline int arity(const Elementwise& op) {
  static constexpr int kArity[] = {1, 2, 3, 1};
  return kArity[op.index()];
}

/// A program may have any number of results; the planner creates them and they are never inferred. The tape never sees
/// this op: gradients are those of the ops that were recorded.
struct Fused {
  static constexpr std::string_view kName = "fused";
  static constexpr OpTraits kTraits{Pattern::Composite, AutocastTo::Same, Bound::Memory, Rows::ByAttributes,
                                    MayFail::Never};
  bool is_row_wise(int axis) const;
  std::shared_ptr<const Program> program;
  bool streams = false;  // its results leave the caches before they are read: store past the caches
  Descs infer(Inputs in) const;
  Values expand(Inputs in) const;
  void vjp(Backward& backward) const;
};

}  // namespace kiln::op

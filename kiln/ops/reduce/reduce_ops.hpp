// Ops that reduce dimensions. The result keeps them with size 1, so that it broadcasts against the operand.
#pragma once
#include "kiln/ops/traits.hpp"

namespace kiln::op {

enum class ReduceFn : std::uint8_t { Sum, Mean, Prod, Max, Min, Any, All, Length };
enum class ArgFn : std::uint8_t { ArgMax, ArgMin };

std::string_view name(ReduceFn fn);  // "sum"
std::string_view name(ArgFn fn);

/// Reduces over `dims`, ascending. Sum and Prod of integers and booleans are int64. An empty Sum is 0, Prod 1, Any
/// false, All true, Mean NaN, Length 0; an empty Max or Min is an error. NaN wins in Max and Min. Length is the Euclidean
/// length, the square root of the sum of squares: right wherever it lies in the range of the type itself, though squares
/// do not. A NaN wins over an infinity. Where a length is 0, so is its gradient.
struct Reduce {
  static constexpr std::string_view kName = "reduce";
  static constexpr OpTraits kTraits{Pattern::Reduction, AutocastTo::ByAttributes, Bound::Memory, Rows::ByAttributes,
                                    MayFail::Never};
  AutocastTo autocast_to() const;
  bool is_row_wise(int axis) const;
  ReduceFn fn;
  Dims dims;
  Descs infer(Inputs in) const;
  Saves saves(std::uint32_t tracked) const;
  void vjp(Backward& backward) const;
};

/// The index (int64) of the first largest or smallest element along `dim`; a NaN is more extreme than any number.
struct ArgReduce {
  static constexpr std::string_view kName = "arg_reduce";
  static constexpr OpTraits kTraits{Pattern::Reduction, AutocastTo::Same, Bound::Memory, Rows::None, MayFail::Never};
  ArgFn fn;
  int dim;
  Descs infer(Inputs in) const;
  void vjp(Backward& backward) const;
};

}  // namespace kiln::op

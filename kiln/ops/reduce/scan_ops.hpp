// Ops that run along a dimension: each element of the result reduces the elements up to its position.
#pragma once
#include "kiln/ops/traits.hpp"

namespace kiln::op {

enum class ScanFn : std::uint8_t { Sum, Prod, Max, Min, LogSumExp };

std::string_view name(ScanFn fn);  // "cumsum"

/// The reduction of all elements along `dim` up to each position: including it, or excluding it if `exclusive` (only
/// Sum and Prod; the first result is then 0 or 1); counted from the end if `reverse`. Sum and Prod of integers and
/// booleans are int64. Max and Min have a second result: the indices (int64) of the first extreme so far; a NaN wins
/// from its position on.
struct Scan {
  static constexpr std::string_view kName = "scan";
  static constexpr OpTraits kTraits{Pattern::Opaque, AutocastTo::Single, Bound::Memory, Rows::None, MayFail::Never};
  enum Slot { values, indices };
  ScanFn fn;
  int dim;
  bool exclusive = false, reverse = false;
  Descs infer(Inputs in) const;
  Saves saves(std::uint32_t tracked) const;
  void vjp(Backward& backward) const;
};

/// y[i] = a[i] * y[i - 1] + b[i] along `dim`, from the end if `reverse`; y is 0 before its first element. a and b are
/// floats of one shape. Its gradient is the same recurrence in the other direction; the gradients of cumprod and
/// logcumsumexp use it too.
struct Recurrence {
  static constexpr std::string_view kName = "linear_recurrence";
  static constexpr OpTraits kTraits{Pattern::Opaque, AutocastTo::Same, Bound::Memory, Rows::None, MayFail::Never};
  enum Slot { a, b };
  int dim;
  bool reverse = false;
  Descs infer(Inputs in) const;
  Saves saves(std::uint32_t tracked) const { return {.in = 1u << a, .out = (tracked >> a & 1u) != 0}; }
  void vjp(Backward& backward) const;
};

}  // namespace kiln::op

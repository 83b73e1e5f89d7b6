// Ops that treat every element alike. Operands broadcast; the functions are the rows of elementwise.def.
#pragma once
#include "kiln/ops/traits.hpp"

namespace kiln::op {

enum class UnaryFn : std::uint8_t;  // enumerators.hpp
enum class BinaryFn : std::uint8_t;

/// The element types a function is computed in.
enum class Domain : std::uint8_t { Float, Number, Integer, Bool, Any };

std::string_view name(UnaryFn fn);  // "exp"
std::string_view name(BinaryFn fn);
/// The number of functions, for reflection: the enumerators are counted from 0.
std::size_t enumerator_count(UnaryFn);
std::size_t enumerator_count(BinaryFn);
Domain domain(UnaryFn fn);
Domain domain(BinaryFn fn);
bool yields_bool(UnaryFn fn);
bool yields_bool(BinaryFn fn);
/// The row's expression as written, for backends that generate kernel text.
std::string_view expression(UnaryFn fn);
std::string_view expression(BinaryFn fn);
/// The functions applied to plain numbers.
Scalar evaluate(UnaryFn fn, const Scalar& x);
Scalar evaluate(BinaryFn fn, const Scalar& x, const Scalar& y);

struct Unary {
  static constexpr std::string_view kName = "unary";
  static constexpr OpTraits kTraits{Pattern::Elementwise, AutocastTo::Same, Bound::Memory, Rows::Each, MayFail::Never};
  UnaryFn fn;
  Descs infer(Inputs in) const;
  Saves saves(std::uint32_t tracked) const;
  void vjp(Backward& backward) const;
};

/// Tensor operands have one dtype (the functions that users call promote); either may be a plain number.
struct Binary {
  static constexpr std::string_view kName = "binary";
  static constexpr OpTraits kTraits{Pattern::Elementwise, AutocastTo::Same, Bound::Memory, Rows::Each, MayFail::Never};
  BinaryFn fn;
  Descs infer(Inputs in) const;
  Saves saves(std::uint32_t tracked) const;
  void vjp(Backward& backward) const;
};

/// condition ? x : y
struct Where {
  static constexpr std::string_view kName = "where";
  static constexpr OpTraits kTraits{Pattern::Elementwise, AutocastTo::Same, Bound::Memory, Rows::Each, MayFail::Never};
  enum Slot { condition, x, y };
  Descs infer(Inputs in) const;
  Saves saves(std::uint32_t) const { return {.in = 1u << condition}; }
  void vjp(Backward& backward) const;
};

/// Its operand, whose elements must lie in [low, high]. NaN passes.
struct Within {
  static constexpr std::string_view kName = "within";
  static constexpr OpTraits kTraits{Pattern::Elementwise, AutocastTo::Same, Bound::Memory, Rows::None, MayFail::OnData};
  double low, high;
  Descs infer(Inputs in) const;
  void vjp(Backward& backward) const;
};

struct Cast {
  static constexpr std::string_view kName = "cast";
  static constexpr OpTraits kTraits{Pattern::Elementwise, AutocastTo::Same, Bound::Memory, Rows::Each, MayFail::Never};
  DType to;
  Descs infer(Inputs in) const;
  void vjp(Backward& backward) const;
};

}  // namespace kiln::op

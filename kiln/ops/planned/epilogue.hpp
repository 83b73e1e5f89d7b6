// A product, convolution or layer norm and the elementwise program that alone reads its result, so that the result need
// not be stored in between. Only the planner creates these.
#pragma once
#include "kiln/ops/norm/norm_ops.hpp"
#include "kiln/ops/planned/fused.hpp"
#include "kiln/ops/product/matmul_ops.hpp"
#include "kiln/ops/spatial/conv_ops.hpp"

namespace kiln::op {

/// The call's operands are the product's, then the program's without `input`, which is the product's result. That
/// result has as many elements as the program's shape and is read in row-major order; the result of a convolution has
/// that shape.
struct Epilogue {
  static constexpr std::string_view kName = "epilogue";
  static constexpr OpTraits kTraits{Pattern::Composite, AutocastTo::Same, Bound::Compute, Rows::None, MayFail::Never};
  double flops(Inputs in, Inputs out) const;
  std::variant<Matmul, MatmulInteger, Conv, ConvInteger, LayerNorm> product;
  std::shared_ptr<const Program> program;
  Desc result;                 // of the product
  std::uint16_t operands = 0;  // the number of the product's operands
  std::uint16_t input = 0;     // the program's input that is the product's result
  Descs infer(Inputs in) const;
  Values expand(Inputs in) const;
  void vjp(Backward& backward) const;

  /// The program's inputs for a call with these operands, where `value` is the product's result.
  SpareValues inputs(Inputs in, const Value& value) const;
};

}  // namespace kiln::op

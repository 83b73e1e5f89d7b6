// A product, convolution or layer norm and the elementwise program that alone reads its result, so that the result need not
// be stored in between. Only the planner makes these.
#pragma once
#include "kiln/ops/norm/norm_ops.hpp"
#include "kiln/ops/planned/fused.hpp"
#include "kiln/ops/product/matmul_ops.hpp"
#include "kiln/ops/spatial/conv_ops.hpp"

namespace kiln::op {

/// The call's operands: the product's, then the program's without `input`, which is the product's result. That has as
/// many elements as the program's shape, and is read in its row-major order; a convolution's has that shape.
struct Epilogue {
  static constexpr std::string_view kName = "epilogue";
  static constexpr Facts kFacts{Pattern::Composite, AutocastTo::Same, Bound::Compute, Rows::None, MayFail::Never};
  double flops(Inputs in, Inputs out) const;
  std::variant<Matmul, MatmulInteger, Conv, ConvInteger, LayerNorm> product;
  std::shared_ptr<const Program> program;
  Desc result;                 // of the product
  std::uint16_t operands = 0;  // likewise
  std::uint16_t input = 0;     // of the program
  Descs infer(Inputs in) const;
  Values expand(Inputs in) const;
  void vjp(Backward& backward) const;

  /// The program's inputs in a call with these operands and a product that came to `value`.
  SpareValues inputs(Inputs in, const Value& value) const;
};

}  // namespace kiln::op

#include "kiln/backend/cpu/matmul/matmul.hpp"

#include "kiln/backend/cpu/engines.hpp"
#include "kiln/backend/cpu/family.hpp"
#include "kiln/backend/cpu/matmul/choose.hpp"
#include "kiln/backend/cpu/simd/elementwise/through_float32.hpp"
#include "kiln/ops/planned/epilogue.hpp"

namespace kiln::cpu {

FastKernels matmul_kernels() {
  FastKernels kernels =
      family([](const auto& op, Call call) -> decltype(matmul::run(op, call)) { return matmul::run(op, call); });
  kernels.multiply = matmul::multiply;
  return kernels;
}

namespace matmul {
namespace {

bool in_int16(Call call) {
  const Value operands[] = {simd::widened(call.in[0], DType::I16), simd::widened(call.in[1], DType::I16)};
  Value wide(make_ref<Node>(Desc{call.out[0].shape(), DType::I16}, call.out[0].device()));
  if (!run(op::Matmul(), {operands, {&wide, 1}})) return false;
  simd::narrow(wide, call.out[0]);
  return true;
}

bool is_empty(const Value& a, const Value& result) { return numel(result.shape()) == 0 || a.dim(-1) == 0; }

/// Computes the product, and passes its pieces to `epilogue` if there is one. Returns false if there is one, but no
/// pieces are large enough for it.
bool multiply(Call call, const Epilogue* epilogue) {
  const Value &a = call.in[0], &b = call.in[1];
  for (const Value* const operand : {&a, &b})
    if (operand->dtype() != call.out[0].dtype() || operand->rank() < 2) return false;
  Value copies[2];
  if (is_empty(a, call.out[0])) {
    if (epilogue || a.dtype() == DType::Bool) return false;
    product_of(call, copies);
    return true;
  }
  switch (choose(MatmulCase::of(a, b)).algorithm) {
    case Algorithm::Reference: return false;
    case Algorithm::Float32: return !epilogue && simd::through_float32<op::Matmul>(op::Matmul(), call, run);
    case Algorithm::Int16: return !epilogue && in_int16(call);
    case Algorithm::AmxMatmul: return linked_amx()->matmul(call, epilogue);
    case Algorithm::OnednnMatmul:
      if (epilogue) return false;
      linked_onednn()->matmul(call);
      return true;
    case Algorithm::FewHalves:
      if (epilogue) return false;
      simd::multiply_few_halves(product_of(call, copies));
      return true;
    default: break;
  }
  const Product p = product_of(call, copies, !epilogue);
  return simd::multiply_matrices(p, choose_way(p), epilogue);
}

}  // namespace

bool run(const op::Matmul&, Call call) { return multiply(call, nullptr); }

bool multiply(const op::Epilogue& op, Call call, const Epilogue& epilogue) {
  return std::holds_alternative<op::Matmul>(op.product) && multiply(call, &epilogue);
}

}  // namespace matmul
}  // namespace kiln::cpu

// Products of bfloat16 matrices on tiles or vectors.
#pragma once
#include "kiln/backend/cpu/epilogue.hpp"
#include "kiln/backend/cpu/product.hpp"

namespace kiln::cpu::amx {

/// Computes a product with at least one element, whose right operand is in the memory of `right`; for `epilogue` if
/// there is one.
void multiply(const Product& p, const Value& right, const Epilogue* epilogue);

/// Computes a call of op::Matmul. Returns false, without any effect, if pieces are too small for `epilogue`.
bool multiply(Call call, const Epilogue* epilogue);

}  // namespace kiln::cpu::amx

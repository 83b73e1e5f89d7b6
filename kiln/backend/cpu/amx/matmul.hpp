// Products of bfloat16 matrices on tiles, or vectors.
#pragma once
#include "kiln/backend/cpu/epilogue.hpp"
#include "kiln/backend/cpu/product.hpp"

namespace kiln::cpu::amx {

/// A product, not empty, whose right operand lies in the memory of `right`; for `epilogue`, if there is one.
void multiply(const Product& p, const Value& right, const Epilogue* epilogue);

/// A call of op::Matmul. False where pieces are not worth handing to `epilogue`; nothing has happened then.
bool multiply(Call call, const Epilogue* epilogue);

}  // namespace kiln::cpu::amx

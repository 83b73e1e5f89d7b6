// The windows of few pixels, gathered in the order of a weight, which then need not be brought into another.
#pragma once
#include "kiln/backend/cpu/conv/geometry.hpp"
#include "kiln/backend/cpu/conv/operand.hpp"
#include "kiln/backend/cpu/epilogue.hpp"
#include "kiln/backend/cpu/product.hpp"

namespace kiln::cpu::amx {

/// So few pixels of y that their windows are less than the weight.
bool wants_gathering(const conv::Geometry& g);

/// [pixels, in * kernel]; `value` holds the memory.
struct GatheredWindows {
  Value value;
  std::int64_t rows, columns;

  GatheredWindows(const conv::Geometry& g, const conv::Operand& x);
};

/// A product of bfloat16, not empty, whose right operand lies in the memory of `right`.
void multiply(const Product& p, const Value& right, const Epilogue* epilogue);

}  // namespace kiln::cpu::amx

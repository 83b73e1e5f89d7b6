// Epilogues so simple that the kernels of products do what they say before they store an element.
#pragma once
#include <optional>

#include "kiln/backend/cpu/epilogue.hpp"
#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/ops/op.hpp"

namespace kiln::cpu::simd {

/// The program as a Finish: the product plus a row, plus a tensor, then its maximum with a number, then the minimum
/// with one; or some of that. `in` are the program's operands without the product, whose order is `order`.
std::optional<SimpleEpilogue> simple_epilogue(const op::Epilogue& op, Inputs in, const Array& result,
                                              const Dims& order);

}  // namespace kiln::cpu::simd

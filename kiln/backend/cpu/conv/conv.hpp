// Convolutions and their adjoints. Each call goes to the algorithm that choose.hpp selects.
#pragma once
#include "kiln/backend/cpu/fast.hpp"
#include "kiln/ops/spatial/conv_ops.hpp"

namespace kiln::cpu::conv {

// These return false for empty convolutions, and, without a kernel of oneDNN, for grouped and very large ones.
bool run(const op::Conv& op, Call call);
bool run(const op::ConvTranspose& op, Call call);
bool run(const op::ConvWeightGrad& op, Call call);

/// Implements FastKernels::multiply.
bool multiply(const op::Epilogue& op, Call call, const Epilogue& epilogue);

}  // namespace kiln::cpu::conv

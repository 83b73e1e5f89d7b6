// SIMD kernels, written with Highway and dispatched to the best instruction set at run time. Each run() returns false,
// and has then done nothing, if there is no kernel for these operands.
#pragma once
#include "kiln/backend/cpu/fast.hpp"
#include "kiln/ops/op.hpp"

namespace kiln::cpu::simd {

bool run(const op::Unary&, Call);
bool run(const op::Binary&, Call);
bool run(const op::Where&, Call);
bool run(const op::Special&, Call);
bool run(const op::Cast&, Call);
bool run(const op::Fused&, Call);
bool run(const op::Reduce&, Call);
bool run(const op::ArgReduce&, Call);
bool run(const op::Scan&, Call);
bool run(const op::Recurrence&, Call);
bool run(const op::Sort&, Call);
bool run(const op::TopK&, Call);
bool run(const op::SearchSorted&, Call);
bool run(const op::MaxPool&, Call);
bool run(const op::MaxPoolGrad&, Call);
bool run(const op::AvgPool&, Call);
bool run(const op::AvgPoolGrad&, Call);
bool run(const op::Fold&, Call);
bool run(const op::Gather&, Call);
bool run(const op::Scatter&, Call);
bool run(const op::Select&, Call);
bool run(const op::SelectUpdate&, Call);
bool run(const op::SelectSum&, Call);
bool run(const op::RavelIndex&, Call);
bool run(const op::Nonzero&, Call);
bool run(const op::MaskSelect&, Call);
bool run(const op::Resample&, Call);
bool run(const op::Blend&, Call);
bool run(const op::BlendTranspose&, Call);
bool run(const op::BlendWeightGrad&, Call);
bool run(const op::GridSample&, Call);
bool run(const op::GridSampleTranspose&, Call);
bool run(const op::GridSampleGridGrad&, Call);
bool run(const op::Arange&, Call);
bool run(const op::Random&, Call);
bool run(const op::Dropout&, Call);
bool run(const op::Fft&, Call);
bool run(const op::Ctc&, Call);
bool run(const op::Rnnt&, Call);
bool run(const op::Softmax&, Call);
bool run(const op::LayerNorm&, Call);
bool run(const op::CrossEntropy&, Call);
bool run(const op::BatchNorm&, Call);
bool run(const op::BatchNormGrad&, Call);
bool run(const op::GroupNorm&, Call);
bool run(const op::GroupNormGrad&, Call);
bool run(const op::Attention&, Call);
bool run(const op::AttentionGrad&, Call);
bool run(const op::RecurrentLayer&, Call);
bool run(const op::RecurrentLayerGrad&, Call);
bool run(const op::Cholesky&, Call);
bool run(const op::Lu&, Call);
bool run(const op::Qr&, Call);
bool run(const op::Eigh&, Call);
bool run(const op::Svd&, Call);
bool run(const op::Solve&, Call);
bool run(const op::TriangularSolve&, Call);

// Implements FastKernels::finish.
bool run_epilogue(const op::Epilogue&, Call, FunctionRef<bool(const Epilogue&)> multiply);

}  // namespace kiln::cpu::simd

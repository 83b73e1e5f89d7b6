// A plain kernel for every primitive: any strides, every element type that the op takes, on any platform. What other
// kernels are compared with, and what runs where there is no better one.
#pragma once
#include "kiln/backend/cpu/kernel.hpp"
#include "kiln/ops/op.hpp"

namespace kiln::cpu::reference {

// elementwise.cpp
void run(const op::Unary& op, Call call);
void run(const op::Binary& op, Call call);
void run(const op::Where& op, Call call);
void run(const op::Within& op, Call call);
void run(const op::Cast& op, Call call);
// special.cpp
void run(const op::Special& op, Call call);
void run(const op::Gcd& op, Call call);
// reduce.cpp
void run(const op::Reduce& op, Call call);
void run(const op::ArgReduce& op, Call call);
// scan.cpp
void run(const op::Scan& op, Call call);
void run(const op::Recurrence& op, Call call);
// order.cpp
void run(const op::Sort& op, Call call);
void run(const op::TopK& op, Call call);
void run(const op::SearchSorted& op, Call call);
// view.cpp
void run(const op::Reshape& op, Call call);
void run(const op::Permute& op, Call call);
void run(const op::Expand& op, Call call);
void run(const op::Slice& op, Call call);
void run(const op::SliceAssign& op, Call call);
void run(const op::Unfold& op, Call call);
void run(const op::Fold& op, Call call);
// matmul.cpp
void run(const op::Matmul& op, Call call);
// conv.cpp
void run(const op::Conv& op, Call call);
void run(const op::ConvTranspose& op, Call call);
void run(const op::ConvWeightGrad& op, Call call);
// pool.cpp
void run(const op::MaxPool& op, Call call);
void run(const op::MaxPoolGrad& op, Call call);
void run(const op::AvgPool& op, Call call);
void run(const op::AvgPoolGrad& op, Call call);
// resample.cpp
void run(const op::Resample& op, Call call);
// blend.cpp
void run(const op::Blend& op, Call call);
void run(const op::BlendTranspose& op, Call call);
void run(const op::BlendWeightGrad& op, Call call);
// index.cpp
void run(const op::Gather& op, Call call);
void run(const op::Scatter& op, Call call);
void run(const op::Select& op, Call call);
void run(const op::SelectUpdate& op, Call call);
void run(const op::RavelIndex& op, Call call);
void run(const op::Nonzero& op, Call call);
// assemble.cpp
void run(const op::Cat& op, Call call);
// signal.cpp
void run(const op::Fft& op, Call call);
// factor.cpp
void run(const op::Cholesky& op, Call call);
void run(const op::Lu& op, Call call);
void run(const op::Qr& op, Call call);
// solve.cpp
void run(const op::Solve& op, Call call);
void run(const op::TriangularSolve& op, Call call);
// spectrum.cpp
void run(const op::Eigh& op, Call call);
void run(const op::Svd& op, Call call);
// create.cpp
void run(const op::Fill& op, Call call);
void run(const op::Arange& op, Call call);
void run(const op::Random& op, Call call);
void run(const op::Dropout& op, Call call);

}  // namespace kiln::cpu::reference

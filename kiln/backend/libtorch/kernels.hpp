// The ops that ATen computes, one file a family. Each returns false, without any effect, for a call that ATen computes
// otherwise than Kiln's table says, or not at all: Kiln's expansion or reference kernel runs then. docs/libtorch.md lists
// them.
#pragma once
#include "kiln/ops/backend.hpp"

namespace kiln {
namespace op {
struct Arange;
struct ArgReduce;
struct AvgPool;
struct AvgPoolGrad;
struct BatchNorm;
struct BatchNormGrad;
struct Binary;
struct Blend;
struct BlendTranspose;
struct BlendWeightGrad;
struct Cast;
struct Cat;
struct Cholesky;
struct Conv;
struct ConvTranspose;
struct ConvWeightGrad;
struct CrossEntropy;
struct Det;
struct Eigh;
struct Expand;
struct Fft;
struct Fill;
struct Fold;
struct Gather;
struct Gcd;
struct GridSample;
struct GridSampleGridGrad;
struct GridSampleTranspose;
struct GroupNorm;
struct GroupNormGrad;
struct LayerNorm;
struct Lu;
struct Matmul;
struct MaxPool;
struct MaxPoolGrad;
struct Nonzero;
struct Permute;
struct Qr;
struct RavelIndex;
struct Reduce;
struct Resample;
struct Reshape;
struct Scan;
struct Scatter;
struct SearchSorted;
struct Select;
struct SelectUpdate;
struct Slice;
struct SliceAssign;
struct Softmax;
struct Solve;
struct Sort;
struct Special;
struct Svd;
struct TopK;
struct TriangularSolve;
struct Unary;
struct Unfold;
struct Where;
struct Within;
}  // namespace op

namespace libtorch {

// elementwise.cpp
bool run(const op::Unary& op, Call call);
bool run(const op::Binary& op, Call call);
bool run(const op::Where& op, Call call);
bool run(const op::Within& op, Call call);
bool run(const op::Cast& op, Call call);

// special.cpp
bool run(const op::Special& op, Call call);
bool run(const op::Gcd& op, Call call);

// reduce.cpp
bool run(const op::Reduce& op, Call call);
bool run(const op::ArgReduce& op, Call call);
bool run(const op::Scan& op, Call call);
bool run(const op::Sort& op, Call call);
bool run(const op::TopK& op, Call call);
bool run(const op::SearchSorted& op, Call call);

// view.cpp
bool run(const op::Reshape& op, Call call);
bool run(const op::Permute& op, Call call);
bool run(const op::Expand& op, Call call);
bool run(const op::Slice& op, Call call);
bool run(const op::Unfold& op, Call call);
bool run(const op::SliceAssign& op, Call call);
bool run(const op::Fold& op, Call call);
bool run(const op::Cat& op, Call call);
bool run(const op::Fill& op, Call call);
bool run(const op::Arange& op, Call call);

// product.cpp
bool run(const op::Matmul& op, Call call);
bool run(const op::Conv& op, Call call);
bool run(const op::ConvTranspose& op, Call call);
bool run(const op::ConvWeightGrad& op, Call call);

// pool.cpp
bool run(const op::MaxPool& op, Call call);
bool run(const op::MaxPoolGrad& op, Call call);
bool run(const op::AvgPool& op, Call call);
bool run(const op::AvgPoolGrad& op, Call call);
bool run(const op::Resample& op, Call call);
bool run(const op::Blend& op, Call call);
bool run(const op::BlendTranspose& op, Call call);
bool run(const op::BlendWeightGrad& op, Call call);

// sample.cpp
bool run(const op::GridSample& op, Call call);
bool run(const op::GridSampleTranspose& op, Call call);
bool run(const op::GridSampleGridGrad& op, Call call);

// index.cpp
bool run(const op::Gather& op, Call call);
bool run(const op::Scatter& op, Call call);
bool run(const op::Select& op, Call call);
bool run(const op::SelectUpdate& op, Call call);
bool run(const op::RavelIndex& op, Call call);
bool run(const op::Nonzero& op, Call call);

// norm.cpp
bool run(const op::Softmax& op, Call call);
bool run(const op::CrossEntropy& op, Call call);
bool run(const op::LayerNorm& op, Call call);
bool run(const op::BatchNorm& op, Call call);
bool run(const op::BatchNormGrad& op, Call call);
bool run(const op::GroupNorm& op, Call call);
bool run(const op::GroupNormGrad& op, Call call);

// signal.cpp
bool run(const op::Fft& op, Call call);

// linalg.cpp
bool run(const op::Cholesky& op, Call call);
bool run(const op::Lu& op, Call call);
bool run(const op::Qr& op, Call call);
bool run(const op::Solve& op, Call call);
bool run(const op::Det& op, Call call);
bool run(const op::TriangularSolve& op, Call call);
bool run(const op::Eigh& op, Call call);
bool run(const op::Svd& op, Call call);

}  // namespace libtorch
}  // namespace kiln

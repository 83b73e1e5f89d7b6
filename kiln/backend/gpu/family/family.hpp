// The families of kernels for all GPUs: `bool run(Gpu&, const op::Softmax&, Call)`, found by overload resolution. One
// returns false, with nothing done, for a case without a kernel: it runs as the op's expansion, or on the host if there
// is none.
//
// A kernel is a plain struct of all that it is built from, with `Kernel kernel() const`; Gpu::launch builds and
// compiles it once.
#pragma once
#include "kiln/backend/gpu/gpu.hpp"
#include "kiln/ops/op.hpp"

namespace kiln::gpu::family {

// assemble.cpp
bool run(Gpu& gpu, const op::Cat& op, Call call);
bool run(Gpu& gpu, const op::Ravel& op, Call call);
bool run(Gpu& gpu, const op::Fold& op, Call call);
bool run(Gpu& gpu, const op::SliceAssign& op, Call call);

// collective.cpp
bool run(Gpu& gpu, const op::AllGather& op, Call call);
bool run(Gpu& gpu, const op::AllReduce& op, Call call);
bool run(Gpu& gpu, const op::Broadcast& op, Call call);
bool run(Gpu& gpu, const op::ReduceScatter& op, Call call);

// create.cpp
bool run(Gpu& gpu, const op::Arange& op, Call call);
bool run(Gpu& gpu, const op::Fill& op, Call call);

// dropout.cpp
bool run(Gpu& gpu, const op::Dropout& op, Call call);

// elementwise.cpp
bool run(Gpu& gpu, const op::Binary& op, Call call);
bool run(Gpu& gpu, const op::Cast& op, Call call);
bool run(Gpu& gpu, const op::Fused& op, Call call);
bool run(Gpu& gpu, const op::Gcd& op, Call call);
bool run(Gpu& gpu, const op::Special& op, Call call);
bool run(Gpu& gpu, const op::Unary& op, Call call);
bool run(Gpu& gpu, const op::Where& op, Call call);

// gather.cpp
bool run(Gpu& gpu, const op::Gather& op, Call call);
bool run(Gpu& gpu, const op::Select& op, Call call);

// order.cpp
bool run(Gpu& gpu, const op::SearchSorted& op, Call call);
bool run(Gpu& gpu, const op::Sort& op, Call call);
bool run(Gpu& gpu, const op::TopK& op, Call call);

// position.cpp
bool run(Gpu& gpu, const op::Nonzero& op, Call call);
bool run(Gpu& gpu, const op::RavelIndex& op, Call call);
bool run(Gpu& gpu, const op::Within& op, Call call);

// product/epilogue.cpp
/// Do libraries implement this epilogue, or is it a layer norm whose result is only needed in halves?
bool accepts(const op::Epilogue& op);
bool run(Gpu& gpu, const op::Epilogue& op, Call call);

// product/matmul.cpp
bool run(Gpu& gpu, const op::Matmul& op, Call call);

// random.cpp
bool run(Gpu& gpu, const op::Random& op, Call call);

// rows/batch_norm.cpp
bool run(Gpu& gpu, const op::BatchNorm& op, Call call);
bool run(Gpu& gpu, const op::BatchNormGrad& op, Call call);

// rows/cross_entropy.cpp
bool run(Gpu& gpu, const op::CrossEntropy& op, Call call);

// rows/group_norm.cpp
bool run(Gpu& gpu, const op::GroupNorm& op, Call call);
bool run(Gpu& gpu, const op::GroupNormGrad& op, Call call);
bool run(Gpu& gpu, const op::LayerNorm& op, Call call);

// rows/reduce.cpp
bool run(Gpu& gpu, const op::ArgReduce& op, Call call);
bool run(Gpu& gpu, const op::Reduce& op, Call call);

// rows/row_program.cpp
bool run(Gpu& gpu, const op::RowFused& op, Call call);

// rows/scan.cpp
bool run(Gpu& gpu, const op::Recurrence& op, Call call);
bool run(Gpu& gpu, const op::Scan& op, Call call);

// rows/softmax.cpp
bool run(Gpu& gpu, const op::Softmax& op, Call call);

// scatter.cpp
bool run(Gpu& gpu, const op::Scatter& op, Call call);
bool run(Gpu& gpu, const op::SelectUpdate& op, Call call);

// sequence/attention_forward.cpp
bool run(Gpu& gpu, const op::Attention& op, Call call);

// sequence/attention_grad.cpp
bool run(Gpu& gpu, const op::AttentionGrad& op, Call call);

// sequence/ctc_transducer.cpp
bool run(Gpu& gpu, const op::Ctc& op, Call call);
bool run(Gpu& gpu, const op::Rnnt& op, Call call);

// sequence/fft.cpp
bool run(Gpu& gpu, const op::Fft& op, Call call);

// sequence/recurrent_forward.cpp
bool run(Gpu& gpu, const op::RecurrentLayer& op, Call call);

// sequence/recurrent_grad.cpp
bool run(Gpu& gpu, const op::RecurrentLayerGrad& op, Call call);

// spatial/blend.cpp
bool run(Gpu& gpu, const op::Blend& op, Call call);
bool run(Gpu& gpu, const op::BlendTranspose& op, Call call);
bool run(Gpu& gpu, const op::BlendWeightGrad& op, Call call);
bool run(Gpu& gpu, const op::MaxPoolGrad& op, Call call);

// spatial/conv.cpp
bool run(Gpu& gpu, const op::Conv& op, Call call);
bool run(Gpu& gpu, const op::ConvTranspose& op, Call call);
bool run(Gpu& gpu, const op::ConvWeightGrad& op, Call call);

// spatial/pool.cpp
bool run(Gpu& gpu, const op::AvgPool& op, Call call);
bool run(Gpu& gpu, const op::AvgPoolGrad& op, Call call);
bool run(Gpu& gpu, const op::MaxPool& op, Call call);

// spatial/resample.cpp
bool run(Gpu& gpu, const op::Resample& op, Call call);

// multi_tensor.cpp
bool run(Gpu& gpu, const op::Batched& op, Call call);

// view.cpp
bool run(Gpu& gpu, const op::Expand& op, Call call);
bool run(Gpu& gpu, const op::Permute& op, Call call);
bool run(Gpu& gpu, const op::Reshape& op, Call call);
bool run(Gpu& gpu, const op::Slice& op, Call call);
bool run(Gpu& gpu, const op::Unfold& op, Call call);

// categorical.cpp
bool draw_classes(Gpu& gpu, const op::Random& op, Call call);

// copy.cpp
/// Copies elements between arrays of the same shape and type, for any strides.
void copy(Gpu& gpu, const Array& from, const Array& to);

}  // namespace kiln::gpu::family

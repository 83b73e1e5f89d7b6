// Products and convolutions.
#include "kiln/backend/libtorch/kernels.hpp"
#include "kiln/backend/libtorch/tensor.hpp"
#include "kiln/ops/product/matmul_ops.hpp"
#include "kiln/ops/spatial/conv_ops.hpp"

namespace kiln::libtorch {
namespace {

/// The attributes of a convolution as ATen takes them. It pads both sides alike; other padding is a step of its own.
struct Convolution {
  explicit Convolution(const op::Conv& conv)
      : stride(to_vector(conv.stride)),
        padding(to_vector(conv.padding)),
        dilation(to_vector(conv.dilation)),
        groups(conv.groups) {
    bool alike = true;
    for (int i = 0; i < conv.padding.size(); ++i)
      alike = alike && conv.padding[i] == conv.padding_after[i] && conv.padding[i] >= 0;
    if (alike) return;
    for (int i = conv.padding.size() - 1; i >= 0; --i)
      outer.insert(outer.end(), {conv.padding[i], conv.padding_after[i]});
    std::fill(padding.begin(), padding.end(), 0);
  }

  at::Tensor padded(const at::Tensor& x) const { return outer.empty() ? x : at::constant_pad_nd(x, outer); }
  /// The adjoint of padded().
  at::Tensor cropped(const at::Tensor& x) const {
    std::vector<std::int64_t> inner;
    for (const std::int64_t size : outer) inner.push_back(-size);
    return inner.empty() ? x : at::constant_pad_nd(x, inner);
  }
  /// The gradients of x and weight, of which `wanted` says which one to compute.
  std::tuple<at::Tensor, at::Tensor, at::Tensor> backward(const at::Tensor& y, const at::Tensor& x,
                                                          const at::Tensor& weight, std::array<bool, 3> wanted) const {
    return at::convolution_backward(y, x, weight, at::OptionalIntArrayRef(), stride, padding, dilation, false, none(),
                                    groups, wanted);
  }
  std::vector<std::int64_t> none() const { return std::vector<std::int64_t>(stride.size(), 0); }

  std::vector<std::int64_t> stride, padding, dilation, outer;  // outer: last dimension first
  std::int64_t groups;
};

std::vector<std::int64_t> with_sizes(std::int64_t first, std::int64_t second, const Spatial& sizes) {
  std::vector<std::int64_t> shape{first, second};
  shape.insert(shape.end(), sizes.begin(), sizes.end());
  return shape;
}

}  // namespace

bool run(const op::Matmul&, Call call) {
  give(call.out[0], at::matmul(computed(call.in[0]), computed(call.in[1])));
  return true;
}

bool run(const op::Conv& op, Call call) {
  using op::Conv;
  const Convolution conv(op);
  const at::Tensor x = conv.padded(computed(call.in[Conv::x])), weight = computed(call.in[Conv::weight]);
  const c10::optional<at::Tensor> bias = call.in.size() > Conv::bias ? optional(call.in[Conv::bias]) : c10::nullopt;
  give(call.out[0],
       at::convolution(x, weight, bias, conv.stride, conv.padding, conv.dilation, false, conv.none(), conv.groups));
  return true;
}

bool run(const op::ConvTranspose& op, Call call) {
  using op::ConvTranspose;
  const Convolution conv(op.conv);
  const at::Tensor y = computed(call.in[ConvTranspose::y]), weight = computed(call.in[ConvTranspose::weight]);
  const at::Tensor x = at::empty(with_sizes(y.size(0), weight.size(1) * conv.groups, op.sizes), y.options());
  const at::Tensor padded = conv.padded(x);
  if (padded.numel() == 0) return false;
  give(call.out[0], conv.cropped(std::get<0>(conv.backward(y, padded, weight, {true, false, false}))));
  return true;
}

bool run(const op::ConvWeightGrad& op, Call call) {
  using op::ConvWeightGrad;
  const Convolution conv(op.conv);
  const at::Tensor x = conv.padded(computed(call.in[ConvWeightGrad::x])), y = computed(call.in[ConvWeightGrad::y]);
  const at::Tensor weight = at::empty(to_vector(call.out[0].shape()), x.options());
  give(call.out[0], std::get<1>(conv.backward(y, x, weight, {false, true, false})));
  return true;
}

}  // namespace kiln::libtorch

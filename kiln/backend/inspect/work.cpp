#include "kiln/backend/inspect/work.hpp"

#include <algorithm>

namespace kiln {
namespace {

/// The elements that lie in memory: dimensions with stride 0 repeat them.
double distinct(const Node& node) {
  const Shape& shape = node.desc.shape;
  double count = 1;
  for (int i = 0; i < shape.size(); ++i)
    if (shape[i] == 0 || node.strides.size() != shape.size() || node.strides[i] != 0)
      count *= static_cast<double>(shape[i]);
  return count;
}

double bytes_of(const Node& node) { return distinct(node) * static_cast<double>(size_of(node.desc.dtype)); }

bool is_view(const Value& result, Inputs in) {
  const Ref<Storage>& storage = result.node()->storage;
  return storage && std::any_of(in.begin(), in.end(),
                                [&](const Value& value) { return value.node() && value.node()->storage == storage; });
}

double bytes_of(const op::Op& op, const Call& call) {
  double written = 0;
  bool all_views = !call.out.empty();
  for (const Value& result : call.out) {
    if (is_view(result, call.in)) continue;
    all_views = false;
    written += bytes_of(*result.node());
  }
  if (all_views) return 0;
  const bool takes_rows = std::holds_alternative<op::Gather>(op.is) || std::holds_alternative<op::Select>(op.is);
  double read = 0;
  for (std::size_t i = 0; i < call.in.size(); ++i) {
    if (!call.in[i].node()) continue;
    const double bytes = bytes_of(*call.in[i].node());
    read += takes_rows && i == 0 ? std::min(bytes, written) : bytes;
  }
  return read + written;
}

/// Each element of `y` is a sum over what a filter holds: 2 flops for each.
double conv_flops(const Shape& y, const Shape& weight) {
  return weight.empty() || weight[0] == 0 ? 0
                                          : 2.0 * static_cast<double>(numel(y)) * static_cast<double>(numel(weight)) /
                                                static_cast<double>(weight[0]);
}

/// q k' and p v, of all pairs: a mask saves work that is not deducted here.
double attention_flops(Inputs in) {
  const Shape &q = in[op::Attention::q].shape(), &k = in[op::Attention::k].shape(), &v = in[op::Attention::v].shape();
  return 2.0 * static_cast<double>(q[0] * q[1]) * static_cast<double>(q[2] * k[2]) * static_cast<double>(q[3] + v[3]);
}

struct Flops {
  const Call& call;

  const Shape& in(std::size_t i) const { return call.in[i].shape(); }
  const Shape& out() const { return call.out[0].shape(); }

  double operator()(const op::Matmul&) const {
    return 2.0 * static_cast<double>(numel(out())) * static_cast<double>(in(0).back());
  }
  double operator()(const op::Conv&) const { return conv_flops(out(), in(op::Conv::weight)); }
  double operator()(const op::ConvTranspose&) const {
    return conv_flops(in(op::ConvTranspose::y), in(op::ConvTranspose::weight));
  }
  double operator()(const op::ConvWeightGrad&) const { return conv_flops(in(op::ConvWeightGrad::y), out()); }
  double operator()(const op::Attention&) const { return attention_flops(call.in); }
  double operator()(const op::AttentionGrad&) const { return 2.5 * attention_flops(call.in); }  // five products of two
  double operator()(const op::Epilogue& op) const { return std::visit(*this, op.product); }
  template <class T>
  double operator()(const T&) const {
    return 0;
  }
};

}  // namespace

Work work_of(const op::Op& op, const Call& call) {
  return {.bytes = bytes_of(op, call), .flops = op::visit(op, Flops{call})};
}

}  // namespace kiln

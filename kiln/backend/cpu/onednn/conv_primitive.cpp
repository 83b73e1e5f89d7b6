#include "kiln/backend/cpu/onednn/conv_primitive.hpp"

#include "kiln/backend/cpu/onednn/layout.hpp"
#include "kiln/backend/cpu/onednn/mistakes.hpp"

namespace kiln::cpu::onednn {
namespace {

using dnnl::memory;

constexpr auto kDirect = dnnl::algorithm::convolution_direct;
constexpr auto kForward = dnnl::prop_kind::forward_training;

memory::dims dims_of(const Spatial& list) { return {list.begin(), list.end()}; }

/// Returns nothing if oneDNN's kernel for the case is known to be wrong. Its next best kernel is not used: it is
/// untested for such cases, and sometimes crashes.
template <class Descriptor>
Primitive right_or_none(const Descriptor& descriptor, Pass pass, const Geometry& g, DType dtype,
                        std::initializer_list<int> roles) {
  if (mistaken(pass, g, dtype, descriptor.impl_info_str())) return {};
  return Primitive(descriptor, roles);
}

/// The arguments of oneDNN's descriptors.
struct ConvDescriptor {
  MemoryDesc x, y, bias;
  memory::dims weight, stride, dilation, before, after;

  ConvDescriptor(const Geometry& g, DType dtype)
      : x(channels_last(dtype, g.batch, g.in, g.sizes)),
        y(channels_last(dtype, g.batch, g.out, g.result)),
        bias({g.out}, type_of(dtype), memory::format_tag::a),
        weight{g.out / g.groups, g.in / g.groups},
        stride(dims_of(g.stride)),
        dilation(dims_of(g.dilation)),
        before(dims_of(g.padding)),
        after(dims_of(g.padding_after)) {
    weight.insert(weight.end(), g.kernel.begin(), g.kernel.end());
    if (g.groups > 1) weight.insert(weight.begin(), g.groups);
    for (auto& axis : dilation) --axis;  // oneDNN counts the elements in between
  }

  MemoryDesc any_weight(DType dtype) const { return MemoryDesc(weight, type_of(dtype), memory::format_tag::any); }

  auto forward(DType dtype, bool with_bias = false) const {
    using Forward = dnnl::convolution_forward;
    const MemoryDesc w = any_weight(dtype);
    return with_bias
               ? describe<Forward>(attributes(), kForward, kDirect, x, w, bias, y, stride, dilation, before, after)
               : describe<Forward>(attributes(), kForward, kDirect, x, w, y, stride, dilation, before, after);
  }
};

struct Forward {
  Geometry geometry;
  DType dtype;
  bool with_bias;

  Primitive make() const {
    const auto descriptor = ConvDescriptor(geometry, dtype).forward(dtype, with_bias);
    if (!with_bias)
      return right_or_none(descriptor, Pass::Forward, geometry, dtype, {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST});
    return right_or_none(descriptor, Pass::Forward, geometry, dtype,
                         {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST, DNNL_ARG_BIAS});
  }
};

struct BackwardData {
  Geometry geometry;
  DType dtype;

  Primitive make() const {
    const ConvDescriptor parts(geometry, dtype);
    const auto descriptor = describe_gradient<dnnl::convolution_backward_data>(
        parts.forward(dtype), attributes(), kDirect, parts.x, parts.any_weight(dtype), parts.y, parts.stride,
        parts.dilation, parts.before, parts.after);
    return right_or_none(descriptor, Pass::Data, geometry, dtype,
                         {DNNL_ARG_DIFF_DST, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_SRC});
  }
};

struct BackwardWeight {
  Geometry geometry;
  DType dtype;

  Primitive make() const {
    const ConvDescriptor parts(geometry, dtype);
    const auto descriptor = describe_gradient<dnnl::convolution_backward_weights>(
        parts.forward(dtype), attributes(), kDirect, parts.x, parts.any_weight(DType::F32), parts.y, parts.stride,
        parts.dilation, parts.before, parts.after);
    return right_or_none(descriptor, Pass::Weight, geometry, dtype,
                         {DNNL_ARG_SRC, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_WEIGHTS});
  }
};

}  // namespace

Primitive& conv_primitive(const Geometry& g, DType dtype, bool with_bias) {
  return cached(Forward{g, dtype, with_bias});
}
Primitive& conv_data_primitive(const Geometry& g, DType dtype) { return cached(BackwardData{g, dtype}); }
Primitive& conv_weight_primitive(const Geometry& g, DType dtype) { return cached(BackwardWeight{g, dtype}); }

}  // namespace kiln::cpu::onednn

#include "kiln/backend/cpu/onednn/conv_primitive.hpp"

#include "kiln/backend/cpu/onednn/layout.hpp"
#include "kiln/backend/cpu/onednn/mistakes.hpp"

namespace kiln::cpu::onednn {
namespace {

using dnnl::memory;

constexpr auto kDirect = dnnl::algorithm::convolution_direct;
constexpr auto kForward = dnnl::prop_kind::forward_training;

memory::dims dims_of(const Spatial& list) { return {list.begin(), list.end()}; }

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

  auto forward(DType dtype, bool with_bias) const {
    using Forward = dnnl::convolution_forward;
    const MemoryDesc w = any_weight(dtype);
    return with_bias
               ? describe<Forward>(attributes(), kForward, kDirect, x, w, bias, y, stride, dilation, before, after)
               : describe<Forward>(attributes(), kForward, kDirect, x, w, y, stride, dilation, before, after);
  }
  template <class Gradient>
  auto gradient(DType dtype, DType of_weight) const {
    return describe_gradient<Gradient>(forward(dtype, false), attributes(), kDirect, x, any_weight(of_weight), y,
                                       stride, dilation, before, after);
  }
};

struct Convolution {
  Pass pass;
  Geometry geometry;
  DType dtype;
  bool with_bias;

  Primitive make() const {
    const ConvDescriptor parts(geometry, dtype);
    switch (pass) {
      case Pass::Forward:
        if (with_bias)
          return unless_mistaken(parts.forward(dtype, true),
                                 {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST, DNNL_ARG_BIAS});
        return unless_mistaken(parts.forward(dtype, false), {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST});
      case Pass::Data:
        return unless_mistaken(parts.gradient<dnnl::convolution_backward_data>(dtype, dtype),
                               {DNNL_ARG_DIFF_DST, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_SRC});
      case Pass::Weight: break;
    }
    return unless_mistaken(parts.gradient<dnnl::convolution_backward_weights>(dtype, DType::F32),
                           {DNNL_ARG_SRC, DNNL_ARG_DIFF_DST, DNNL_ARG_DIFF_WEIGHTS});
  }

 private:
  /// Returns nothing if oneDNN's kernel for the case is known to be wrong. Its next best kernel is not used: it is
  /// untested for such cases, and sometimes crashes.
  Primitive unless_mistaken(const dnnl::primitive_desc_base& descriptor, std::initializer_list<int> roles) const {
    if (mistaken(pass, geometry, dtype, descriptor.impl_info_str())) return {};
    return Primitive(descriptor, roles);
  }
};

}  // namespace

Primitive& conv_primitive(Pass pass, const Geometry& g, DType dtype, bool with_bias) {
  return cached(Convolution{pass, g, dtype, with_bias});
}

}  // namespace kiln::cpu::onednn

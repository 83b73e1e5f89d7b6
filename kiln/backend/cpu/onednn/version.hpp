// What oneDNN's versions 2 and 3 call differently.
#pragma once
#include "kiln/backend/cpu/onednn/engine.hpp"

namespace kiln::cpu::onednn {

using MemoryDesc = dnnl::memory::desc;

#if DNNL_VERSION_MAJOR >= 3

/// The descriptor of a primitive of type P.
template <class P, class... Args>
typename P::primitive_desc describe(const dnnl::primitive_attr& attributes, const Args&... args) {
  return {engine(), args..., attributes};
}
/// That of a gradient, for which oneDNN wants to know the forward pass.
template <class P, class Forward, class... Args>
typename P::primitive_desc describe_gradient(const Forward& forward, const dnnl::primitive_attr& attributes,
                                             const Args&... args) {
  return {engine(), args..., forward, attributes};
}

inline void set_data(const dnnl::memory& memory, void* data) { memory.set_data_handle(data); }
inline dnnl::memory::dims strides_of(const MemoryDesc& desc) { return desc.get_strides(); }

#else

template <class P, class... Args>
typename P::primitive_desc describe(const dnnl::primitive_attr& attributes, const Args&... args) {
  return {typename P::desc(args...), attributes, engine()};
}
template <class P, class Forward, class... Args>
typename P::primitive_desc describe_gradient(const Forward& forward, const dnnl::primitive_attr& attributes,
                                             const Args&... args) {
  return {typename P::desc(args...), attributes, engine(), forward};
}

inline void set_data(const dnnl::memory& memory, void* data) { memory.set_data_handle(data, stream()); }
inline dnnl::memory::dims strides_of(const MemoryDesc& desc) {
  const auto& strides = desc.data.format_desc.blocking.strides;
  return {strides, strides + desc.data.ndims};
}

#endif

}  // namespace kiln::cpu::onednn

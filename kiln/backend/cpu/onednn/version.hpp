// Differences of names between oneDNN's versions 2 and 3.
#pragma once
#include <cstdint>
#include <vector>

#include "kiln/backend/cpu/onednn/engine.hpp"

namespace kiln::cpu::onednn {

using MemoryDesc = dnnl::memory::desc;

/// So many elements along an axis are grouped into a block; the last block is innermost in memory.
struct InnerBlock {
  std::int64_t size;
  std::int64_t axis;
};

#if DNNL_VERSION_MAJOR >= 3

/// Returns the descriptor of a primitive of type P.
template <class P, class... Args>
typename P::primitive_desc describe(const dnnl::primitive_attr& attributes, const Args&... args) {
  return {engine(), args..., attributes};
}
/// Returns the descriptor of a gradient, for which oneDNN needs the forward pass.
template <class P, class Forward, class... Args>
typename P::primitive_desc describe_gradient(const Forward& forward, const dnnl::primitive_attr& attributes,
                                             const Args&... args) {
  return {engine(), args..., forward, attributes};
}

inline void set_data(const dnnl::memory& memory, void* data) { memory.set_data_handle(data); }
inline dnnl::memory::dims strides_of(const MemoryDesc& desc) { return desc.get_strides(); }
inline dnnl::memory::dims sizes_of(const MemoryDesc& desc) { return desc.get_dims(); }
inline dnnl::memory::data_type type_in(const MemoryDesc& desc) { return desc.get_data_type(); }
inline std::vector<InnerBlock> inner_blocks_of(const MemoryDesc& desc) {
  const dnnl::memory::dims sizes = desc.get_inner_blks(), axes = desc.get_inner_idxs();
  std::vector<InnerBlock> blocks;
  for (std::size_t i = 0; i < sizes.size(); ++i) blocks.push_back({sizes[i], axes[i]});
  return blocks;
}

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
inline dnnl::memory::dims sizes_of(const MemoryDesc& desc) { return desc.dims(); }
inline dnnl::memory::data_type type_in(const MemoryDesc& desc) { return desc.data_type(); }
inline std::vector<InnerBlock> inner_blocks_of(const MemoryDesc& desc) {
  std::vector<InnerBlock> blocks;
  if (desc.data.format_kind != dnnl_blocked) return blocks;
  const auto& blocking = desc.data.format_desc.blocking;
  for (int i = 0; i < blocking.inner_nblks; ++i) blocks.push_back({blocking.inner_blks[i], blocking.inner_idxs[i]});
  return blocks;
}

#endif

}  // namespace kiln::cpu::onednn

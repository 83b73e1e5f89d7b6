#include "kiln/backend/cpu/onednn/layout.hpp"

#include <algorithm>
#include <optional>

#include "kiln/backend/cpu/conv/panels.hpp"
#include "kiln/backend/cpu/memory/packing.hpp"
#include "kiln/backend/cpu/pieces.hpp"
#include "kiln/backend/cpu/rows.hpp"
#include "kiln/core/parallel.hpp"

namespace kiln::cpu::onednn {
namespace {

using dnnl::memory;

memory::dims dims_of(const Shape& shape) { return {shape.begin(), shape.end()}; }

/// The layout of a weight, which is all that oneDNN says about it.
struct Order {
  static constexpr bool kPlain = true;  // == is oneDNN's own
  MemoryDesc desc;
};
std::uint64_t hash_value(const Order& order) {
  std::uint64_t hash = order.desc.get_size();
  for (const std::int64_t stride : strides_of(order.desc)) hash = reflect::detail::mix(hash, std::uint64_t(stride));
  return hash;
}

/// Reorders a weight.
struct Orders {
  Order from, to;

  Primitive make() const {
    return Primitive(dnnl::reorder::primitive_desc(engine(), from.desc, engine(), to.desc, attributes()),
                     {DNNL_ARG_FROM, DNNL_ARG_TO});
  }
};

/// Returns the panels of outputs, if a weight in that order has them.
std::optional<conv::PackPanels> panels_of(const MemoryDesc& order) {
  const memory::dims sizes = sizes_of(order), strides = strides_of(order);
  const std::vector<InnerBlock> blocks = inner_blocks_of(order);
  if (type_in(order) != memory::data_type::f32 || blocks.size() != 1 || blocks[0].axis != 0) return {};
  const auto lies = [&](std::size_t axis, std::int64_t stride) { return sizes[axis] == 1 || strides[axis] == stride; };
  std::int64_t step = blocks[0].size;
  if (!lies(1, step)) return {};
  step *= sizes[1];
  for (std::size_t axis = sizes.size() - 1; axis >= 2; step *= sizes[axis--])
    if (!lies(axis, step)) return {};
  if (!lies(0, step)) return {};
  return conv::PackPanels{sizes[0], sizes[1], step / sizes[1] / blocks[0].size, blocks[0].size};
}

/// Packs a weight in the order that a primitive needs; panels are packed by all threads.
struct PackOrder {
  Order plain, wanted;
  bool by_groups;

  std::size_t bytes() const { return wanted.desc.get_size(); }
  void pack(const std::byte* from, std::byte* to) const {
    const std::optional<conv::PackPanels> panels = by_groups ? std::nullopt : panels_of(wanted.desc);
    if (panels && panels->bytes() == bytes()) panels->pack(from, to);
    else reorder_weight(plain.desc, from, wanted.desc, to);
  }
};

}  // namespace

memory::data_type type_of(DType dtype) {
  return dtype == DType::BF16 ? memory::data_type::bf16 : memory::data_type::f32;
}

void reorder_weight(const MemoryDesc& order, const std::byte* from, const MemoryDesc& wanted, std::byte* to) {
  const OneThread one_thread;
  Primitive& primitive = cached(Orders{{order}, {wanted}});
  primitive.place(0, from);
  primitive.place(1, to);
  primitive.execute();
}

MemoryDesc channels_last(DType dtype, std::int64_t batch, std::int64_t channels, const Spatial& sizes) {
  constexpr memory::format_tag kTags[] = {memory::format_tag::nwc, memory::format_tag::nhwc, memory::format_tag::ndhwc};
  memory::dims dims{batch, channels};
  dims.insert(dims.end(), sizes.begin(), sizes.end());
  return MemoryDesc(dims, type_of(dtype), kTags[sizes.size() - 1]);
}

MemoryDesc plain_weight(const Array& weight, std::int64_t groups) {
  memory::dims dims = dims_of(weight.shape), strides = dims_of(weight.strides);
  if (groups > 1) {
    dims[0] /= groups;
    dims.insert(dims.begin(), groups);
    strides.insert(strides.begin(), dims[1] * strides[0]);
  }
  return MemoryDesc(dims, type_of(weight.dtype), strides);
}

PackedWeight::PackedWeight(ConvOperand weight, std::int64_t groups)
    : weight_(std::move(weight)), by_groups_(groups > 1), plain_(plain_weight(weight_.array, groups)) {}

void PackedWeight::pack(const MemoryDesc& order) {
  if (!find(order)) forms_.emplace_back(order, packed(weight_.value, PackOrder{{plain_}, {order}, by_groups_}));
}

const std::byte* PackedWeight::in(const MemoryDesc& order) const {
  const std::byte* const found = find(order);
  KILN_CHECK(found);
  return found;
}

const std::byte* PackedWeight::find(const MemoryDesc& order) const {
  if (order == plain_) return weight_.array.data;
  for (const auto& [known, block] : forms_)
    if (known == order) return block->bytes();
  return nullptr;
}

}  // namespace kiln::cpu::onednn

#include "kiln/backend/strided/array.hpp"

#include <utility>

namespace kiln::strided {

std::size_t bytes_of(const Desc& desc, std::string_view device) {
  std::int64_t bytes = 0;
  const auto size = static_cast<std::int64_t>(size_of(desc.dtype));
  const bool counted = !__builtin_mul_overflow(numel(desc.shape), size, &bytes);
  require<MemoryError>(counted && std::in_range<std::ptrdiff_t>(bytes), device, ": a tensor ", desc.dtype, " ",
                       desc.shape, " has more bytes than can be counted");
  return static_cast<std::size_t>(bytes);
}

Array read(const Value& value) {
  KILN_CHECK(value.node() && value.node()->storage);
  const Node& node = *value.node();
  const auto& block = static_cast<const Block&>(*node.storage);
  return {.data = block.bytes() + node.offset * static_cast<std::int64_t>(size_of(node.desc.dtype)),
          .dtype = node.desc.dtype,
          .shape = node.desc.shape,
          .strides = node.strides};
}

Array read_contiguous(const Value& value, Value& held, FunctionRef<Value(const Array& from)> copy) {
  const Array array = read(value);
  if (array.contiguous()) return array;
  held = copy(array);
  return read(held);
}

bool may_reuse(const Value& result, const Dims& strides, const Call& call, std::size_t i) {
  if (!call.is_last_use(i) || result.node()->storage) return false;
  const Node& operand = *call.in[i].node();
  if (!operand.storage->has_one_owner() || operand.desc != result.node()->desc) return false;
  if (!same_order(operand.desc.shape, operand.strides, strides)) return false;
  const auto& block = static_cast<const Block&>(*operand.storage);
  const auto bytes = static_cast<std::size_t>(numel(operand.desc.shape)) * size_of(operand.desc.dtype);
  return block.use() == MemoryUse::Result && block.size() == bytes;
}

}  // namespace kiln::strided

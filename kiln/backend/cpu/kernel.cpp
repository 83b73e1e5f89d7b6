#include "kiln/backend/cpu/kernel.hpp"

#include <algorithm>

#include "kiln/backend/cpu/rows.hpp"

namespace kiln::cpu {
namespace {

// Why `bytes` were refused, as far as the books tell afterwards.
std::string reason(std::int64_t bytes) {
  const MemoryStatistics memory = memory_statistics();
  const std::int64_t room = std::max<std::int64_t>(memory.limit - memory.in_use, 0);
  const std::int64_t free = memory.reserved - memory.in_use, block = bytes + bytes / 8;
  if (bytes > room) return text("it is ", text_of_bytes(bytes - room), " more than the limit leaves");
  if (block > room)
    return text("the limit leaves ", text_of_bytes(room), ", and a block is up to an eighth larger than what it holds");
  if (block > room - free)
    return text(text_of_bytes(free), " of what is held lie free in pieces between blocks in use, and the limit leaves ",
                text_of_bytes(room - free), " beside them");
  return "the system gives no more";
}

[[noreturn]] void fail_out_of_memory(std::size_t bytes, const Purpose& purpose) {
  const std::string what = purpose.desc ? text("a tensor ", purpose.desc->dtype, " ", purpose.desc->shape) : "a kernel";
  const auto wanted = static_cast<std::int64_t>(std::min<std::uint64_t>(bytes, INT64_MAX));
  fail<MemoryError>("cpu: ", what, " needs ", bytes, " bytes (", text_of_bytes(wanted),
                    "), for which there is no room: ", reason(wanted), "; ", memory_report());
}

std::size_t bytes_of(const Desc& desc) {
  std::int64_t bytes = 0;
  const auto size = static_cast<std::int64_t>(size_of(desc.dtype));
  require<MemoryError>(!__builtin_mul_overflow(numel(desc.shape), size, &bytes), "cpu: a tensor ", desc.dtype, " ",
                       desc.shape, " has more bytes than can be counted");
  return static_cast<std::size_t>(bytes);
}

}  // namespace

bool lies_in(const Array& x, const Dims& strides) {
  for (int i = 0; i < x.shape.size(); ++i)
    if (x.shape[i] != 1 && x.strides[i] != strides[i]) return false;
  return true;
}

Memory::Memory(std::size_t bytes, const Purpose& purpose)
    : bytes_(acquire(bytes, purpose)), size_(bytes), use_(purpose.use) {
  if (bytes_) return;
  forget_packed();
  bytes_ = acquire(bytes, purpose);
  if (!bytes_) fail_out_of_memory(bytes, purpose);
}

Memory::Memory(const TensorData& lent)
    : bytes_(const_cast<std::byte*>(lent.bytes().data())),
      size_(lent.bytes().size()),
      use_(MemoryUse::Upload),  // which take_memory() leaves alone
      lender_(lent.owner()) {}

Memory::~Memory() {
  if (!lender_) give_back(bytes_, size_, use_);
}

bool Array::contiguous() const { return strided::is_contiguous(shape, strides); }

Array read(const Value& value) {
  KILN_CHECK(value.node() && value.node()->storage);
  const Node& node = *value.node();
  const auto& memory = static_cast<const Memory&>(*node.storage);
  const std::int64_t size = static_cast<std::int64_t>(size_of(node.desc.dtype));
  return {.data = memory.bytes() + node.offset * size,
          .dtype = node.desc.dtype,
          .shape = node.desc.shape,
          .strides = node.strides};
}

Array read_contiguous(const Value& value, Value& held) {
  const Array array = read(value);
  if (array.contiguous()) return array;
  held = Value(make_ref<Node>(value.node()->desc, value.node()->device));
  const Array result = allocate(held, MemoryUse::Scratch);
  copy(array, result);
  return result;
}

Array allocate(Value& result, MemoryUse use) { return allocate(result, contiguous_strides(result.shape()), use); }

Array allocate(Value& result, const Dims& strides, MemoryUse use) {
  Node& node = *result.node();
  if (node.storage && strided::same_order(node.desc.shape, node.strides, strides)) return read(result);
  node.storage = make_ref<Memory>(bytes_of(node.desc), Purpose{.use = use, .desc = &node.desc});
  node.strides = strides;
  node.offset = 0;
  return read(result);
}

bool take_memory(Value& result, const Dims& strides, const Call& call, std::size_t i) {
  if (!call.is_last_use(i) || result.node()->storage) return false;
  const Node& operand = *call.in[i].node();
  if (!operand.storage->has_one_owner() || operand.desc != result.node()->desc) return false;
  if (!strided::same_order(operand.desc.shape, operand.strides, strides)) return false;
  const auto& memory = static_cast<const Memory&>(*operand.storage);
  // The books say what a block is for.
  if (memory.use() != MemoryUse::Result || memory.size() != bytes_of(operand.desc)) return false;
  memory.packed_forms().forget();
  alias(result, call.in[i], strides, 0);
  return true;
}

}  // namespace kiln::cpu

#include "kiln/backend/cpu/kernel.hpp"

#include <algorithm>

#include "kiln/backend/cpu/rows.hpp"

namespace kiln::cpu {
namespace {

// Returns why `bytes` were refused, as far as the statistics show afterwards.
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
                    "), which cannot be allocated: ", reason(wanted), "; ", memory_report());
}

}  // namespace

bool has_strides(const Array& x, const Dims& strides) { return strided::same_order(x.shape, x.strides, strides); }

Memory::Memory(std::size_t bytes, const Purpose& purpose) : Block(acquire(bytes, purpose), bytes, purpose.use) {
  if (bytes_) return;
  forget_packed();
  bytes_ = acquire(bytes, purpose);
  if (!bytes_) fail_out_of_memory(bytes, purpose);
}

Memory::Memory(const TensorData& lent)
    : Block(const_cast<std::byte*>(lent.bytes().data()), lent.bytes().size(),
            MemoryUse::Upload),  // reuse_memory() does not take such a block
      lent_by_(lent.owner()) {}

Memory::~Memory() {
  if (!lent_by_) free_block(bytes_, size_, use_);
}

Array read_contiguous(const Value& value, Value& held) {
  return strided::read_contiguous(value, held, [&](const Array& from) {
    Value copied(make_ref<Node>(value.node()->desc, value.node()->device));
    copy(from, allocate(copied, MemoryUse::Scratch));
    return copied;
  });
}

Array allocate(Value& result, MemoryUse use) { return allocate(result, contiguous_strides(result.shape()), use); }

Array allocate(Value& result, const Dims& strides, MemoryUse use) {
  Node& node = *result.node();
  if (node.storage && strided::same_order(node.desc.shape, node.strides, strides)) return read(result);
  node.storage = make_ref<Memory>(strided::bytes_of(node.desc, "cpu"), Purpose{.use = use, .desc = &node.desc});
  node.strides = strides;
  node.offset = 0;
  return read(result);
}

bool reuse_memory(Value& result, const Dims& strides, const Call& call, std::size_t i) {
  if (!strided::may_reuse(result, strides, call, i)) return false;
  static_cast<const Memory&>(*call.in[i].node()->storage).packed_forms().forget();
  alias(result, call.in[i], strides, 0);
  return true;
}

}  // namespace kiln::cpu

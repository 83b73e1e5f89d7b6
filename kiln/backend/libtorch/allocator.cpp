#include "kiln/backend/libtorch/allocator.hpp"

#include <ATen/ATen.h>
#include <c10/core/CPUAllocator.h>

#include <cstring>
#include <new>
#include <utility>

#include "kiln/backend/cpu/kernel.hpp"

namespace kiln::libtorch {
namespace {

/// ATen's share of a block, which values of Kiln may share too. It stands in the block itself, before the elements, since
/// some libraries of ATen know a piece of memory by its address alone.
struct Lease {
  Ref<cpu::Memory> block;
};
static_assert(sizeof(Lease) <= kAlignment);

Lease* lease_of(void* elements) {
  return std::launder(reinterpret_cast<Lease*>(static_cast<std::byte*>(elements) - kAlignment));
}

// The block outlives the lease that stands in it.
void end(void* elements) {
  if (!elements) return;
  const Ref<cpu::Memory> block = std::move(lease_of(elements)->block);
}

c10::DataPtr lend(std::size_t bytes) {
  if (bytes == 0) return {nullptr, nullptr, &end, c10::Device(c10::kCPU)};
  Ref<cpu::Memory> block = make_ref<cpu::Memory>(bytes + kAlignment, Purpose{.use = MemoryUse::Result});
  std::byte* const begin = block->bytes();
  ::new (static_cast<void*>(begin)) Lease{std::move(block)};
  return {begin + kAlignment, begin + kAlignment, &end, c10::Device(c10::kCPU)};
}

// ATen 1.13 has a constant allocate(), 2.6 one that is not, and copy_data(): so none of them says `override`.
class Pool final : public c10::Allocator {
 public:
  c10::DataPtr allocate(std::size_t bytes) const { return lend(bytes); }
  c10::DataPtr allocate(std::size_t bytes) { return lend(bytes); }
  c10::DeleterFnPtr raw_deleter() const { return &end; }
  void copy_data(void* to, const void* from, std::size_t bytes) const { std::memcpy(to, from, bytes); }
};

}  // namespace

void use_pool() {
  static Pool* const pool = new Pool();  // never destroyed: tensors in global variables may outlive all else
  c10::SetCPUAllocator(pool);
}

Ref<Storage> block_of(const at::Tensor& x) {
  const c10::DataPtr& data = x.storage().data_ptr();
  if (data.get_deleter() != &end || !data.get_context()) return {};
  return lease_of(data.get_context())->block;
}

}  // namespace kiln::libtorch

// What a CPU kernel sees: operands and results as plain strided memory.
//
// Kernels are free functions found by overload resolution, one family per file:
//   reference::run(const op::Conv&, Call)            every primitive; plain C++, any platform, the oracle
//   simd::run(const op::Unary&, Call) -> bool        Highway; false: not this case, try the next
//   matmul::run(const op::Matmul&, Call) -> bool     chooses among the algorithms for it (matmul/choose.hpp)
//   conv::run(const op::Conv&, Call) -> bool         chooses among the algorithms for it (conv/choose.hpp)
//   integer::run(const op::ConvInteger&, Call) -> bool  bytes; false as above
//   amx::run(const op::Attention&, Call) -> bool     bfloat16 on Intel's tiles; false as above
//   lapack::run(const op::Svd&, Call) -> bool        LAPACK; false as above
#pragma once
#include "kiln/backend/cpu/memory/memory.hpp"
#include "kiln/backend/cpu/memory/packed.hpp"
#include "kiln/backend/strided/array.hpp"

namespace kiln::cpu {

using strided::alias;
using strided::Array;
using strided::follow_order;
using strided::read;

/// A block of memory; it goes back to its allocator, or to its lender, when the last value that is stored in it ends.
class Memory : public strided::Block {
 public:
  /// Throws MemoryError where no memory is left.
  explicit Memory(std::size_t bytes, const Purpose& purpose = {});
  /// Holds uploaded data in place; the bytes are borrowed, and nothing writes to them.
  explicit Memory(const TensorData& lent);
  ~Memory() override;
  static void* operator new(std::size_t size) { return cached_allocate(size); }
  static void operator delete(void* memory, std::size_t size) { cached_free(memory, size); }

  /// The forms that packed() keeps with the block. They stay valid because a filled block is not written again while a
  /// value is stored in it; code that gives the block to a new value calls forget().
  PackedForms& packed_forms() const { return packed_forms_; }

 private:
  std::shared_ptr<const void> lent_by_;  // null for a block that is not borrowed
  mutable PackedForms packed_forms_;
};

/// Whether the elements of x are stored with these strides. Dimensions of size 1 may have any stride.
bool has_strides(const Array& x, const Dims& strides);

/// Returns an operand in row-major order: in place if it is stored so, otherwise copied; `held` keeps the copy alive.
Array read_contiguous(const Value& value, Value& held);
/// Gives a result memory in row-major order, unless a caller has already chosen memory in that order for it. Throws
/// MemoryError where no memory is left.
Array allocate(Value& result, MemoryUse use = MemoryUse::Result);
/// Does so in the order of `strides`, which must cover the result without gaps or overlap (a permutation).
Array allocate(Value& result, const Dims& strides, MemoryUse use = MemoryUse::Result);
/// Gives a result the memory of operand i, if the call is the last use of that operand, which must be alone in its
/// memory and in the order that the result is to have, that of `strides`. For kernels that write an element only after
/// they have read those in its place.
bool reuse_memory(Value& result, const Dims& strides, const Call& call, std::size_t i);
/// For kernels that give several results memory before they write: unless all get memory, none keeps any. So a result
/// that took an operand's memory is known not to have been written to it.
class AllocateAllOrNone {
 public:
  explicit AllocateAllOrNone(std::span<Value> results) : results_(results) {}
  ~AllocateAllOrNone() {
    for (Value& result : results_) result.node()->storage = nullptr;
  }
  AllocateAllOrNone(const AllocateAllOrNone&) = delete;
  AllocateAllOrNone& operator=(const AllocateAllOrNone&) = delete;
  /// Call this once all results have memory.
  void succeed() { results_ = {}; }

 private:
  std::span<Value> results_;
};
}  // namespace kiln::cpu

// What a CPU kernel sees: operands and results as plain strided memory.
//
// Kernels are free functions found by overload resolution, one family per file:
//   reference::run(const op::Conv&, Call)            every primitive; plain C++, any platform, the oracle
//   simd::run(const op::Unary&, Call) -> bool        Highway; false: not this case, try the next
//   matmul::run(const op::Matmul&, Call) -> bool     chooses among the algorithms for it (matmul/choose.hpp)
//   conv::run(const op::Conv&, Call) -> bool         chooses among the algorithms for it (conv/choose.hpp)
//   integer::run(const op::ConvInteger&, Call) -> bool  bytes; false: not this case, try the next
//   amx::run(const op::Attention&, Call) -> bool     bfloat16 on Intel's tiles; likewise
//   lapack::run(const op::Svd&, Call) -> bool        LAPACK; likewise
#pragma once
#include "kiln/backend/cpu/memory/memory.hpp"
#include "kiln/backend/cpu/memory/packed.hpp"
#include "kiln/backend/strided/array.hpp"

namespace kiln::cpu {

using strided::alias;
using strided::Array;
using strided::follow_order;
using strided::read;

/// A block of memory; given back to its allocator, or whoever lent it, when the last value that lies in it ends.
class Memory : public strided::Block {
 public:
  /// Throws MemoryError where there is none left.
  explicit Memory(std::size_t bytes, const Purpose& purpose = {});
  /// What was uploaded, where it lies; the bytes are lent, and nobody writes there.
  explicit Memory(const TensorData& lent);
  ~Memory() override;
  static void* operator new(std::size_t size) { return take_spare(size); }
  static void operator delete(void* memory, std::size_t size) { give_spare(memory, size); }

  /// What packed() keeps with it. It holds because a block that was filled is not written again while a value lies in
  /// it; who gives the block to a new value calls forget().
  PackedForms& packed_forms() const { return packed_forms_; }

 private:
  std::shared_ptr<const void> lender_;  // null of a block of our own
  mutable PackedForms packed_forms_;
};

/// Is this where the elements lie? Dimensions of size 1 may have any stride.
bool lies_in(const Array& x, const Dims& strides);

/// An operand in row-major order: in place if it is, otherwise copied (into `held`, which keeps the copy alive).
Array read_contiguous(const Value& value, Value& held);
/// Gives a result memory in row-major order, unless it has some in that order already, which a caller chose for it.
/// Throws MemoryError where there is none left.
Array allocate(Value& result, MemoryUse use = MemoryUse::Result);
/// The same in the order of `strides`, which must cover the result without gaps or overlap (a permutation).
Array allocate(Value& result, const Dims& strides, MemoryUse use = MemoryUse::Result);
/// Gives a result the memory of operand i of a call that is its last use, if it lies there alone and as the result is
/// to lie, in the order of `strides`. For kernels that write an element once they have read those in its place.
bool take_memory(Value& result, const Dims& strides, const Call& call, std::size_t i);
/// For kernels that give several results memory before they write: unless there is enough for all, none keeps any, so
/// that results which took an operand's memory are known not to have been written to it.
class AllOrNone {
 public:
  explicit AllOrNone(std::span<Value> results) : results_(results) {}
  ~AllOrNone() {
    for (Value& result : results_) result.node()->storage = nullptr;
  }
  AllOrNone(const AllOrNone&) = delete;
  AllOrNone& operator=(const AllOrNone&) = delete;
  /// All have some.
  void succeed() { results_ = {}; }

 private:
  std::span<Value> results_;
};
}  // namespace kiln::cpu

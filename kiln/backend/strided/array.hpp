// A kernel's view of operands and results, on a device with addressable memory: elements at an address.
#pragma once
#include "kiln/backend/memory/purpose.hpp"
#include "kiln/backend/strided/strided.hpp"
#include "kiln/core/function_ref.hpp"

namespace kiln::strided {

/// A block of a device's memory that holds values. Each device has its own class, whose destructor returns the block.
class Block : public Storage {
 public:
  /// The block's beginning, as an address of the device.
  std::byte* bytes() const { return bytes_; }
  std::size_t size() const { return size_; }
  /// The use that the memory statistics record for it.
  MemoryUse use() const { return use_; }

 protected:
  Block(std::byte* bytes, std::size_t size, MemoryUse use) : bytes_(bytes), size_(size), use_(use) {}

  std::byte* bytes_;
  const std::size_t size_;
  const MemoryUse use_;
};

/// Elements in memory: element [i, j, ...] is i * strides[0] + j * strides[1] + ... elements after `data`.
struct Array {
  std::byte* data = nullptr;
  DType dtype = DType::F32;
  Shape shape;
  Dims strides;

  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data);
  }
  std::int64_t numel() const { return kiln::numel(shape); }
  /// Whether it is in row-major order without gaps (dimensions of size 1 may have any stride).
  bool contiguous() const { return is_contiguous(shape, strides); }
};

/// The bytes of a tensor without gaps. Throws MemoryError, naming the device, where their number overflows.
std::size_t bytes_of(const Desc& desc, std::string_view device);

/// An operand in place. It must be a tensor in a Block.
Array read(const Value& value);
/// An operand in row-major order: in place if it has that order, otherwise a copy, which `held` keeps alive.
Array read_contiguous(const Value& value, Value& held, FunctionRef<Value(const Array& from)> copy);

/// Whether a result may use the memory of operand i of a call: this is the operand's last use, it alone is in that
/// memory, and it has the order of `strides` that the result needs.
bool may_reuse(const Value& result, const Dims& strides, const Call& call, std::size_t i);

}  // namespace kiln::strided

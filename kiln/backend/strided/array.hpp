// What a kernel of a device with addressable memory sees: operands and results as elements at an address.
#pragma once
#include "kiln/backend/memory/purpose.hpp"
#include "kiln/backend/strided/strided.hpp"
#include "kiln/core/function_ref.hpp"

namespace kiln::strided {

/// A block of a device's memory, which values lie in. Each device has a class of its own, which gives it back.
class Block : public Storage {
 public:
  /// Where it begins, as the device counts.
  std::byte* bytes() const { return bytes_; }
  std::size_t size() const { return size_; }
  /// What the books say that it is for.
  MemoryUse use() const { return use_; }

 protected:
  Block(std::byte* bytes, std::size_t size, MemoryUse use) : bytes_(bytes), size_(size), use_(use) {}

  std::byte* bytes_;
  const std::size_t size_;
  const MemoryUse use_;
};

/// Elements in memory: element [i, j, ...] lies i * strides[0] + j * strides[1] + ... elements behind `data`.
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
  /// In row-major order without gaps (dimensions of size 1 may have any stride).
  bool contiguous() const { return is_contiguous(shape, strides); }
};

/// Of a tensor without gaps. Throws MemoryError, in the name of the device, for more than can be counted.
std::size_t bytes_of(const Desc& desc, std::string_view device);

/// An operand in place. It must be a tensor in a Block.
Array read(const Value& value);
/// An operand in row-major order: in place if it is, otherwise a copy, which `held` keeps alive.
Array read_contiguous(const Value& value, Value& held, FunctionRef<Value(const Array& from)> copy);

/// May a result have the memory of operand i of a call: is this its last use, and does it lie there alone and as the
/// result is to lie, in the order of `strides`?
bool may_take(const Value& result, const Dims& strides, const Call& call, std::size_t i);

}  // namespace kiln::strided

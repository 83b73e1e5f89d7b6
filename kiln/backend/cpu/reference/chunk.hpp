// Converts elements of any type to one of four types to compute in, so that kernels are compiled four times, not
// thirteen: halves are computed in float, integers and booleans in int64, which wraps to the same bits.
#pragma once
#include <vector>

#include "kiln/backend/cpu/rows.hpp"

namespace kiln::cpu::reference {

/// Calls f(TypeTag<C>{}) with the type that `dtype` is computed in: double, float, int64 or uint64.
template <class F>
decltype(auto) visit_compute(DType dtype, F&& f) {
  switch (dtype) {
    case DType::F64: return f(TypeTag<double>{});
    case DType::F32:
    case DType::F16:
    case DType::BF16: return f(TypeTag<float>{});
    case DType::U64: return f(TypeTag<std::uint64_t>{});
    case DType::I64:
    case DType::I32:
    case DType::I16:
    case DType::I8:
    case DType::U32:
    case DType::U16:
    case DType::U8:
    case DType::Bool: return f(TypeTag<std::int64_t>{});
  }
  __builtin_unreachable();
}

/// Calls f(TypeTag<C>{}) for ops that take only floats.
template <class F>
decltype(auto) visit_float(DType dtype, F&& f) {
  KILN_CHECK(is_float(dtype));
  return dtype == DType::F64 ? f(TypeTag<double>{}) : f(TypeTag<float>{});
}

/// The type in which sums and products of many C are accumulated.
template <class C>
using Accumulator = std::conditional_t<std::is_floating_point_v<C>, double, C>;

/// Loads `count` elements from element `at` of an array, `step` apart, converted to C.
template <class C>
void load(const Array& from, std::int64_t at, std::int64_t step, std::int64_t count, C* to);
/// Stores `count` elements into an array, converted to its type.
template <class C>
void store(const C* from, std::int64_t count, const Array& to, std::int64_t at, std::int64_t step);

/// An array's elements in row-major order as C: in place if they are stored so, otherwise converted.
template <class C>
class RowMajor {
 public:
  explicit RowMajor(const Array& array) : data_(array.as<const C>()) {
    if (array.dtype == dtype_of<C> && array.contiguous()) return;
    converted_.resize(static_cast<std::size_t>(array.numel()));
    data_ = converted_.data();
    const Rows<2> rows(array.shape, {contiguous_strides(array.shape), array.strides});
    rows.each([&](const auto& offsets) {
      load(array, offsets[1], rows.steps()[1], rows.length(), converted_.data() + offsets[0]);
    });
  }
  RowMajor(RowMajor&&) = default;
  const C& operator[](std::int64_t i) const { return data_[i]; }
  const C* data() const { return data_; }

 private:
  const C* data_;
  std::vector<C> converted_;
};

/// A result's elements in row-major order as C (they start undefined). A kernel fills them, and then calls store().
template <class C>
class Result {
 public:
  explicit Result(Value& value) : array_(allocate(value)), data_(array_.as<C>()) {
    if (array_.dtype == dtype_of<C>) return;
    pending_.resize(static_cast<std::size_t>(array_.numel()));
    data_ = pending_.data();
  }
  Result(Result&&) = default;
  C& operator[](std::int64_t i) { return data_[i]; }
  C* data() { return data_; }
  void store() {
    if (!pending_.empty()) reference::store(data_, array_.numel(), array_, 0, 1);
  }

 private:
  Array array_;
  C* data_;
  std::vector<C> pending_;
};

/// An operand broadcast to a shape. A plain number is stored here as `dtype`.
class ChunkOperand {
 public:
  ChunkOperand(const Value& value, DType dtype, const Shape& shape);
  ChunkOperand(const ChunkOperand&) = delete;
  ChunkOperand& operator=(const ChunkOperand&) = delete;
  const Array& array() const { return array_; }

 private:
  Array array_;
  alignas(8) std::byte number_[8];
};

}  // namespace kiln::cpu::reference

// Converts elements of any type to one of four types to compute in, so that kernels are compiled four times, not
// thirteen: halves are computed in float, integers and booleans in int64, which wraps to the same bits.
#pragma once
#include <algorithm>
#include <array>
#include <utility>
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

/// A result whose elements are sums in double, which start at 0. It may be made in `parts` of one size that follow one
/// another, of which only one is kept in double; next() begins the one after it.
template <class C>
class Sums {
 public:
  explicit Sums(Value& value, std::int64_t parts = 1)
      : result_(value), sums_(static_cast<std::size_t>(value.numel() / std::max<std::int64_t>(parts, 1))) {}
  /// Element i of the whole result, which must lie in the present part.
  double& operator[](std::int64_t i) { return sums_[static_cast<std::size_t>(i - first_)]; }
  std::int64_t first() const { return first_; }
  std::int64_t size() const { return static_cast<std::int64_t>(sums_.size()); }
  void next() {
    for (double& sum : sums_) result_[first_++] = convert<C>(std::exchange(sum, 0));
  }
  /// After the last part.
  void store() { result_.store(); }

 private:
  Result<C> result_;
  std::vector<double> sums_;
  std::int64_t first_ = 0;  // of the present part
};

/// The three tensors of a linear op and its adjoints. Each op sums into one of them the products of the other two.
enum Side : std::size_t { kX, kWeight, kY };
using Places = std::array<std::int64_t, 3>;  // flat indices in the three

/// Sums the products of `a` and `b`, tensors kA and kB, into tensor kSum, the result of the call, one of its `parts` after
/// the other. each(part, f) calls f(places) for every product of a part. start(sums) sets what its sums start from.
template <Side kA, Side kB, Side kSum, class Each, class Start>
void sum_products(Call call, const Value& a, const Value& b, std::int64_t parts, Each&& each, Start&& start) {
  visit_float(a.dtype(), [&]<class C>(TypeTag<C>) {
    const RowMajor<C> left(read(a)), right(read(b));
    Sums<C> sums(call.out[0], parts);
    for (std::int64_t part = 0; part < parts; ++part, sums.next()) {
      start(sums);
      each(part, [&](const Places& at) {
        sums[at[kSum]] += static_cast<double>(left[at[kA]]) * static_cast<double>(right[at[kB]]);
      });
    }
    sums.store();
  });
}
template <Side kA, Side kB, Side kSum, class Each>
void sum_products(Call call, const Value& a, const Value& b, Each&& each) {
  sum_products<kA, kB, kSum>(call, a, b, 1, [&](std::int64_t, auto&& f) { each(f); }, [](auto&) {});
}

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

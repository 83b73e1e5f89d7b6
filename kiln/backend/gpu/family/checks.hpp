// Reports invalid data that kernels find: the first wrong element, in row-major order.
#pragma once
#include <limits>

#include "kiln/backend/gpu/gpu.hpp"
#include "kiln/core/error/called_as.hpp"
#include "kiln/core/error/error.hpp"

namespace kiln::gpu::family {

inline constexpr std::int64_t kPastAll = std::numeric_limits<std::int64_t>::max();

/// Reports in the cell (Gpu::check_cell) that the element at `place`, an int64, is wrong; the first place is kept. A
/// cell of uint32 takes places below 2^31.
inline void report(const Buffer& cell, const Expr& place) {
  const Expr first = place.builder().literal(DType::I32, 0);
  if (cell.dtype() == DType::I64) cell.update(Update::Maximum, first, kPastAll - place);
  else cell.update(Update::Maximum, first, !place.as(DType::U32));
}
/// The reported place, from a cell that is not 0.
inline std::int64_t reported(std::int64_t found) { return kPastAll - found; }

/// Keeps an operand alive for the sentence of an error, however its memory is used later.
class KeptOperand {
 public:
  explicit KeptOperand(const Value& value) : memory_(value.node()->storage), array_(read(value)) {}
  /// The operand broadcast to a shape.
  KeptOperand(const Value& value, const Shape& shape) : KeptOperand(value) {
    array_.strides = strided::broadcast_strides(array_.shape, array_.strides, shape);
    array_.shape = shape;
  }
  const Array& array() const { return array_; }
  /// Calls f with element i, in row-major order, as a float, double, int64 or uint64; waits for the device.
  template <class F>
  decltype(auto) visit(std::int64_t i, F&& f) const {
    alignas(8) std::byte bytes[8];
    fetch(i, bytes);
    return visit_dtype(array_.dtype, [&]<class T>(TypeTag<T>) -> decltype(auto) {
      const T element = *reinterpret_cast<const T*>(bytes);
      if constexpr (is_half<T>) return f(static_cast<float>(element));
      else if constexpr (std::is_floating_point_v<T> || std::is_same_v<T, std::uint64_t>) return f(element);
      else return f(static_cast<std::int64_t>(element));
    });
  }
  std::int64_t index(std::int64_t i) const {
    return visit(i, [](auto element) { return static_cast<std::int64_t>(element); });
  }

 private:
  void fetch(std::int64_t i, std::byte* bytes) const;

  Ref<Storage> memory_;
  Array array_;
};

/// Makes an error; the sentence names `function` (CalledAs::function() when the op was run) as the caller.
template <class E>
std::exception_ptr wrong(const char* function, std::string_view sentence) {
  return std::make_exception_ptr(E(CalledAs::rename(function, sentence)));
}

/// Makes the results depend on the cell. A reported place is one of items of `each` elements, where an index stands for
/// `inner` elements, and the indices repeat over the items.
void check_indices(Gpu& gpu, const Value& cell, Call call, const Value& indices, std::string_view op, int dim,
                   std::int64_t size, std::int64_t each = 1, std::int64_t inner = 1);

}  // namespace kiln::gpu::family

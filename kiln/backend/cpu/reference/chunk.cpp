#include "kiln/backend/cpu/reference/chunk.hpp"

namespace kiln::cpu::reference {

template <class C>
void load(const Array& from, std::int64_t at, std::int64_t step, std::int64_t count, C* to) {
  visit_dtype(from.dtype, [&]<class T>(TypeTag<T>) {
    const T* elements = from.as<T>() + at;
    for (std::int64_t i = 0; i < count; ++i) to[i] = convert<C>(elements[i * step]);
  });
}

template <class C>
void store(const C* from, std::int64_t count, const Array& to, std::int64_t at, std::int64_t step) {
  visit_dtype(to.dtype, [&]<class T>(TypeTag<T>) {
    T* elements = to.as<T>() + at;
    for (std::int64_t i = 0; i < count; ++i) elements[i * step] = convert<T>(from[i]);
  });
}

#define KILN_INSTANTIATE(C)                                                       \
  template void load(const Array&, std::int64_t, std::int64_t, std::int64_t, C*); \
  template void store(const C*, std::int64_t, const Array&, std::int64_t, std::int64_t);
KILN_INSTANTIATE(double)
KILN_INSTANTIATE(float)
KILN_INSTANTIATE(std::int64_t)
KILN_INSTANTIATE(std::uint64_t)
#undef KILN_INSTANTIATE

ChunkOperand::ChunkOperand(const Value& value, DType dtype, const Shape& shape) {
  if (!value.is_scalar()) {
    array_ = broadcast_to(read(value), shape);
    return;
  }
  visit_dtype(dtype, [&]<class T>(TypeTag<T>) { *reinterpret_cast<T*>(number_) = value.scalar().to<T>(); });
  array_ = {.data = number_, .dtype = dtype, .shape = shape, .strides = Dims::filled(shape.size(), 0)};
}

}  // namespace kiln::cpu::reference

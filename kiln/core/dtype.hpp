// Element types, the table of what they promote to, and the bridge from a run-time DType to a C++ type.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "kiln/core/half.hpp"

namespace kiln {

enum class DType : std::uint8_t { F64, F32, F16, BF16, I64, I32, I16, I8, U64, U32, U16, U8, Bool };
inline constexpr int kDTypeCount = 13;

enum class Kind : std::uint8_t { Float, Int, Bool };

std::string_view name(DType dtype);  // "float32"
std::size_t size_of(DType dtype);    // bytes of one element
Kind kind_of(DType dtype);
inline bool is_float(DType dtype) { return kind_of(dtype) == Kind::Float; }
inline bool is_integer(DType dtype) { return kind_of(dtype) == Kind::Int; }
inline void append(std::string& out, DType dtype) { out += name(dtype); }

/// The type in which an operation on two tensors of these types computes; dtype.cpp has the table.
DType promote(DType a, DType b);
/// The type of a tensor of type `tensor` beside a plain number of kind `scalar`: only a higher kind changes the type
/// (an integer tensor and 0.5 give float32, a float16 tensor and 0.5 stay float16).
DType promote_scalar(DType tensor, Kind scalar);

template <class T> struct DTypeOf;
#define KILN_DTYPE(T, D)                     \
  template <> struct DTypeOf<T> {            \
    static constexpr DType value = DType::D; \
  };
KILN_DTYPE(double, F64)
KILN_DTYPE(float, F32)
KILN_DTYPE(F16, F16)
KILN_DTYPE(BF16, BF16)
KILN_DTYPE(std::int64_t, I64)
KILN_DTYPE(std::int32_t, I32)
KILN_DTYPE(std::int16_t, I16)
KILN_DTYPE(std::int8_t, I8)
KILN_DTYPE(std::uint64_t, U64)
KILN_DTYPE(std::uint32_t, U32)
KILN_DTYPE(std::uint16_t, U16)
KILN_DTYPE(std::uint8_t, U8)
KILN_DTYPE(bool, Bool)
#undef KILN_DTYPE
template <class T> inline constexpr DType dtype_of = DTypeOf<T>::value;

template <class T> struct TypeTag {
  using type = T;
};

/// Calls f(TypeTag<T>{}) with the C++ type of `dtype`: [&](auto tag) { using T = typename decltype(tag)::type; ... }
template <class F>
decltype(auto) visit_dtype(DType dtype, F&& f) {
  switch (dtype) {
    case DType::F64: return f(TypeTag<double>{});
    case DType::F32: return f(TypeTag<float>{});
    case DType::F16: return f(TypeTag<F16>{});
    case DType::BF16: return f(TypeTag<BF16>{});
    case DType::I64: return f(TypeTag<std::int64_t>{});
    case DType::I32: return f(TypeTag<std::int32_t>{});
    case DType::I16: return f(TypeTag<std::int16_t>{});
    case DType::I8: return f(TypeTag<std::int8_t>{});
    case DType::U64: return f(TypeTag<std::uint64_t>{});
    case DType::U32: return f(TypeTag<std::uint32_t>{});
    case DType::U16: return f(TypeTag<std::uint16_t>{});
    case DType::U8: return f(TypeTag<std::uint8_t>{});
    case DType::Bool: return f(TypeTag<bool>{});
  }
  __builtin_unreachable();
}

}  // namespace kiln

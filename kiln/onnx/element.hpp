// ONNX's element types (TensorProto.DataType), those that Kiln computes in and those narrower than a byte or a half: a
// tensor of float8, float6 or float4 is held as float32 of the same values, one of 4- or 2-bit integers as int8 or
// uint8.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kiln/core/tensor_data.hpp"

namespace kiln::onnx {

/// The numbers are those of the file format.
enum class Element : std::int32_t {
  Undefined = 0,
  Float = 1,
  Uint8 = 2,
  Int8 = 3,
  Uint16 = 4,
  Int16 = 5,
  Int32 = 6,
  Int64 = 7,
  String = 8,
  Bool = 9,
  Float16 = 10,
  Double = 11,
  Uint32 = 12,
  Uint64 = 13,
  Complex64 = 14,
  Complex128 = 15,
  Bfloat16 = 16,
  Float8E4M3FN = 17,
  Float8E4M3FNUZ = 18,
  Float8E5M2 = 19,
  Float8E5M2FNUZ = 20,
  Uint4 = 21,
  Int4 = 22,
  Float4E2M1 = 23,
  Float8E8M0 = 24,
  Uint2 = 25,
  Int2 = 26,
  Float6E2M3 = 27,
  Float6E3M2 = 28,
};

/// "float8e4m3fn"; "element type 99" for what is none.
std::string name(Element element);
/// "onnx::Element::Float", as C++ has it.
std::string enumerator(Element element);
inline void append(std::string& out, Element element) { out += name(element); }

/// Kiln has tensors of this type: all but the complex ones and Undefined.
bool is_known(Element element);
/// Float8, float6, float4, and integers of 4 or 2 bits.
bool is_narrow(Element element);
bool is_narrow_float(Element element);
/// Bits of one element in a file; 0 for strings and unknown types.
int bits_of(Element element);
/// The type of the Value of a tensor of `element`. Strings are int64, indices into a list.
DType dtype_of(Element element);
Element element_of(DType dtype);

/// The rules for numbers out of a narrow type's range, and for those between two of its values.
struct NarrowRules {
  bool saturate = true;                // float8: the largest value, rather than infinity or NaN
  std::string_view round_mode = "up";  // the rounding of float8e8m0: up, down or nearest
};
/// x as the nearest value that `element` has, halves to even; NaN as -0 where it has none; of integers the low bits.
double round_to(Element element, double x, const NarrowRules& rules = {});

/// The bits of a value of a narrow type, and back.
unsigned encode(Element element, double x);
double decode(Element element, unsigned bits);

/// Elements as a file has them (little-endian; 4- and 2-bit types packed from the low bits on, float6 a byte each) -> a
/// tensor. Throws DataError, whose sentence begins with `what`, where the bytes are not as many as the shape needs.
/// Where `owner` keeps them, and they lie as they would in memory, they are lent.
TensorData unpack(Element element, const Shape& shape, std::span<const std::byte> bytes, std::string_view what,
                  const std::shared_ptr<const void>& owner = {});
std::vector<std::byte> pack(Element element, const TensorData& data);

}  // namespace kiln::onnx

#include "kiln/onnx/element.hpp"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

namespace kiln::onnx {
namespace {

struct ElementInfo {
  const char *enumerator, *name;
  int bits;
  DType dtype;
};
constexpr std::array<ElementInfo, 29> kElements = {{
    {"Undefined", "undefined", 0, DType::F32},
    {"Float", "float", 32, DType::F32},
    {"Uint8", "uint8", 8, DType::U8},
    {"Int8", "int8", 8, DType::I8},
    {"Uint16", "uint16", 16, DType::U16},
    {"Int16", "int16", 16, DType::I16},
    {"Int32", "int32", 32, DType::I32},
    {"Int64", "int64", 64, DType::I64},
    {"String", "string", 0, DType::I64},
    {"Bool", "bool", 8, DType::Bool},
    {"Float16", "float16", 16, DType::F16},
    {"Double", "double", 64, DType::F64},
    {"Uint32", "uint32", 32, DType::U32},
    {"Uint64", "uint64", 64, DType::U64},
    {"Complex64", "complex64", 0, DType::F32},
    {"Complex128", "complex128", 0, DType::F64},
    {"Bfloat16", "bfloat16", 16, DType::BF16},
    {"Float8E4M3FN", "float8e4m3fn", 8, DType::F32},
    {"Float8E4M3FNUZ", "float8e4m3fnuz", 8, DType::F32},
    {"Float8E5M2", "float8e5m2", 8, DType::F32},
    {"Float8E5M2FNUZ", "float8e5m2fnuz", 8, DType::F32},
    {"Uint4", "uint4", 4, DType::U8},
    {"Int4", "int4", 4, DType::I8},
    {"Float4E2M1", "float4e2m1", 4, DType::F32},
    {"Float8E8M0", "float8e8m0", 8, DType::F32},
    {"Uint2", "uint2", 2, DType::U8},
    {"Int2", "int2", 2, DType::I8},
    {"Float6E2M3", "float6e2m3", 8, DType::F32},
    {"Float6E3M2", "float6e3m2", 8, DType::F32},
}};

const ElementInfo* entry(Element element) {
  const auto number = static_cast<std::int32_t>(element);
  return number > 0 && number < static_cast<std::int32_t>(kElements.size())
             ? &kElements[static_cast<std::size_t>(number)]
             : nullptr;
}

// A small float: sign, exponent and mantissa bits, and what its topmost codes mean.
struct Format {
  int exponent, mantissa, bias;
  bool infinities;     // the topmost exponent holds infinity and NaN
  bool nan_on_top;     // the topmost code is NaN
  bool unsigned_zero;  // the code of -0 is NaN
};
Format format_of(Element element) {
  switch (element) {
    case Element::Float8E4M3FN: return {4, 3, 7, false, true, false};
    case Element::Float8E4M3FNUZ: return {4, 3, 8, false, false, true};
    case Element::Float8E5M2: return {5, 2, 15, true, false, false};
    case Element::Float8E5M2FNUZ: return {5, 2, 16, false, false, true};
    case Element::Float6E2M3: return {2, 3, 1, false, false, false};
    case Element::Float6E3M2: return {3, 2, 3, false, false, false};
    default: return {2, 1, 1, false, false, false};  // Float4E2M1
  }
}
constexpr double kNan = std::numeric_limits<double>::quiet_NaN(), kInfinity = std::numeric_limits<double>::infinity();

double largest(const Format& f) {
  int top = (1 << f.exponent) - 1;
  int mantissa = (1 << f.mantissa) - 1;
  if (f.infinities) --top;
  if (f.nan_on_top) --mantissa;
  return std::ldexp(1 + std::ldexp(mantissa, -f.mantissa), top - f.bias);
}

double round_to_e8m0(double x, const NarrowRules& rules) {
  const double most = std::ldexp(1, 127), least = std::ldexp(1, -127);
  if (x != x) return kNan;
  x = std::abs(x);
  if (!rules.saturate && (x == 0 || x > most || x < least)) return kNan;
  if (x >= most) return most;
  if (x <= least) return least;
  const int exponent = std::ilogb(x);
  const double below = std::ldexp(1, exponent);
  if (x == below || rules.round_mode == "down") return below;
  if (rules.round_mode == "nearest") return x >= 1.5 * below ? 2 * below : below;
  return 2 * below;
}

int width_of_integer(Element element) { return element == Element::Uint4 || element == Element::Int4 ? 4 : 2; }
bool is_signed(Element element) { return element == Element::Int4 || element == Element::Int2; }

double from_low_bits(Element element, unsigned bits) {
  const int width = width_of_integer(element);
  bits &= (1u << width) - 1;
  return is_signed(element) && bits >> (width - 1) ? static_cast<double>(bits) - (1 << width) : bits;
}

}  // namespace

std::string name(Element element) {
  const ElementInfo* const known = entry(element);
  return known ? known->name : text("element type ", static_cast<std::int32_t>(element));
}

std::string enumerator(Element element) {
  const ElementInfo* const known = entry(element);
  return text("onnx::Element::", known ? known->enumerator : "Undefined");
}

bool is_known(Element element) {
  return entry(element) && element != Element::Complex64 && element != Element::Complex128;
}
bool is_narrow(Element element) { return static_cast<std::int32_t>(element) >= 17 && entry(element); }
bool is_narrow_float(Element element) { return is_narrow(element) && is_float(dtype_of(element)); }
int bits_of(Element element) {
  const ElementInfo* const known = entry(element);
  return known ? known->bits : 0;
}
DType dtype_of(Element element) {
  const ElementInfo* const known = entry(element);
  return known ? known->dtype : DType::F32;
}
Element element_of(DType dtype) {
  for (std::size_t i = 1; i < 17; ++i)
    if (kElements[i].bits && kElements[i].dtype == dtype) return static_cast<Element>(i);
  return Element::Undefined;
}

double round_to(Element element, double x, const NarrowRules& rules) {
  if (!is_narrow_float(element)) {
    const double whole = std::trunc(x != x ? 0 : x), wrapped = std::fmod(whole, 256);
    return from_low_bits(element, static_cast<unsigned>(static_cast<int>(wrapped) & 0xff));
  }
  if (element == Element::Float8E8M0) return round_to_e8m0(x, rules);
  const Format f = format_of(element);
  const bool has_nan = f.infinities || f.nan_on_top || f.unsigned_zero;
  if (x != x) return has_nan ? kNan : -0.0;
  const double most = largest(f), size = std::abs(x);
  double rounded = size;
  if (size != 0 && size < kInfinity) {
    const int lowest = 1 - f.bias, exponent = std::max(std::ilogb(size), lowest);
    const double step = std::ldexp(1, exponent - f.mantissa);
    rounded = std::nearbyint(size / step) * step;
  }
  if (rounded > most) {
    const bool keeps = rules.saturate || !has_nan;
    rounded = keeps ? most : f.infinities ? kInfinity : kNan;
  }
  if (f.unsigned_zero && rounded == 0) return 0;
  return std::copysign(rounded, x);
}

unsigned encode(Element element, double x) {
  if (!is_narrow_float(element)) {
    const int width = width_of_integer(element);
    return static_cast<unsigned>(static_cast<int>(x)) & ((1u << width) - 1);
  }
  if (element == Element::Float8E8M0) return x != x ? 0xffu : static_cast<unsigned>(std::ilogb(x) + 127);
  const Format f = format_of(element);
  const unsigned sign = std::signbit(x) ? 1u << (f.exponent + f.mantissa) : 0;
  const unsigned top = (1u << (f.exponent + f.mantissa)) - 1;
  if (x != x) return f.unsigned_zero ? top + 1 : f.infinities ? (top - (1u << f.mantissa) + 2) | sign : top | sign;
  const double size = std::abs(x);
  if (size == kInfinity) return (top - (1u << f.mantissa) + 1) | sign;
  if (size == 0) return sign;
  const int lowest = 1 - f.bias, exponent = std::max(std::ilogb(size), lowest);
  const auto mantissa = static_cast<unsigned>(std::ldexp(size, f.mantissa - exponent));
  const unsigned code =
      mantissa >> f.mantissa  // a normal number
          ? (static_cast<unsigned>(exponent + f.bias) << f.mantissa) | (mantissa & ((1u << f.mantissa) - 1))
          : mantissa;
  return code | sign;
}

double decode(Element element, unsigned bits) {
  if (!is_narrow_float(element)) return from_low_bits(element, bits);
  if (element == Element::Float8E8M0) return bits == 0xff ? kNan : std::ldexp(1, static_cast<int>(bits) - 127);
  const Format f = format_of(element);
  const int width = f.exponent + f.mantissa;
  const bool negative = bits >> width & 1;
  const unsigned magnitude = bits & ((1u << width) - 1), mantissa = magnitude & ((1u << f.mantissa) - 1);
  const int exponent = static_cast<int>(magnitude >> f.mantissa), top = (1 << f.exponent) - 1;
  if (f.unsigned_zero && negative && magnitude == 0) return kNan;
  if (f.nan_on_top && magnitude == (1u << width) - 1) return kNan;
  double size;
  if (f.infinities && exponent == top) size = mantissa ? kNan : kInfinity;
  else if (exponent == 0) size = std::ldexp(mantissa, 1 - f.bias - f.mantissa);
  else size = std::ldexp((1u << f.mantissa) + mantissa, exponent - f.bias - f.mantissa);
  return negative ? -size : size;
}

TensorData unpack(Element element, const Shape& shape, std::span<const std::byte> bytes, std::string_view what,
                  const std::shared_ptr<const void>& owner) {
  const std::int64_t count = numel(shape);
  const int bits = bits_of(element);
  require<DataError>(bits > 0, what, " has elements of type ", name(element),
                     ", which Kiln does not support as numbers");
  std::int64_t total = 0;
  require<DataError>(!__builtin_mul_overflow(count, bits, &total), what, " has the shape ", shape,
                     ", which is too large");
  const std::int64_t needed = total / 8 + (total % 8 != 0);
  require<DataError>(needed == static_cast<std::int64_t>(bytes.size()), what, " has the shape ", shape, " and type ",
                     name(element), ", which take ", needed, " bytes, but ", bytes.size(), " are there");
  const DType dtype = dtype_of(element);
  if (!is_narrow(element)) return TensorData::lent(shape, dtype, bytes, owner);
  TensorData data(shape, dtype);
  const int per_byte = 8 / bits;
  visit_dtype(dtype, [&](auto tag) {
    using T = typename decltype(tag)::type;
    if constexpr (!std::is_same_v<T, bool>) {
      const std::span<T> values = data.as<T>();
      for (std::int64_t i = 0; i < count; ++i) {
        const auto byte = std::to_integer<unsigned>(bytes[static_cast<std::size_t>(i / per_byte)]);
        const unsigned code = byte >> (i % per_byte * bits);
        values[static_cast<std::size_t>(i)] =
            static_cast<T>(static_cast<float>(decode(element, code & ((1u << bits) - 1))));
      }
    }
  });
  return data;
}

std::vector<std::byte> pack(Element element, const TensorData& data) {
  if (!is_narrow(element)) return {data.bytes().begin(), data.bytes().end()};
  const int bits = bits_of(element), per_byte = 8 / bits;
  const std::int64_t count = data.numel();
  std::vector<std::byte> bytes(static_cast<std::size_t>((count + per_byte - 1) / per_byte));
  for (std::int64_t i = 0; i < count; ++i)
    bytes[static_cast<std::size_t>(i / per_byte)] |=
        static_cast<std::byte>(encode(element, data.at(i)) << (i % per_byte * bits));
  return bytes;
}

}  // namespace kiln::onnx

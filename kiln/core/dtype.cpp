#include "kiln/core/dtype.hpp"

#include <array>

namespace kiln {
namespace {

struct DTypeInfo {
  std::string_view name;
  std::size_t bytes;
  Kind kind;
};
constexpr std::array<DTypeInfo, kDTypeCount> kRows = {{
    {"float64", 8, Kind::Float},
    {"float32", 4, Kind::Float},
    {"float16", 2, Kind::Float},
    {"bfloat16", 2, Kind::Float},
    {"int64", 8, Kind::Int},
    {"int32", 4, Kind::Int},
    {"int16", 2, Kind::Int},
    {"int8", 1, Kind::Int},
    {"uint64", 8, Kind::Int},
    {"uint32", 4, Kind::Int},
    {"uint16", 2, Kind::Int},
    {"uint8", 1, Kind::Int},
    {"bool", 1, Kind::Bool},
}};
const DTypeInfo& row(DType dtype) { return kRows[static_cast<std::size_t>(dtype)]; }

// The smallest type that holds both: float16 with bfloat16 gives float32, an integer with a float gives the float's
// type, a signed with an unsigned type gives a signed type that holds both; int64 with uint64 gives int64. These are
// PyTorch's rules, and NumPy's for the wide unsigned types that PyTorch does not promote, kept to integers.
constexpr auto F64 = DType::F64, F32 = DType::F32, F16 = DType::F16, BF16 = DType::BF16, I64 = DType::I64,
               I32 = DType::I32, I16 = DType::I16, I8 = DType::I8, U64 = DType::U64, U32 = DType::U32, U16 = DType::U16,
               U8 = DType::U8, B = DType::Bool;
constexpr DType kPromote[kDTypeCount][kDTypeCount] = {
    // F64  F32   F16   BF16  I64   I32   I16   I8    U64   U32   U16   U8    Bool
    {F64, F64, F64, F64, F64, F64, F64, F64, F64, F64, F64, F64, F64},            // F64
    {F64, F32, F32, F32, F32, F32, F32, F32, F32, F32, F32, F32, F32},            // F32
    {F64, F32, F16, F32, F16, F16, F16, F16, F16, F16, F16, F16, F16},            // F16
    {F64, F32, F32, BF16, BF16, BF16, BF16, BF16, BF16, BF16, BF16, BF16, BF16},  // BF16
    {F64, F32, F16, BF16, I64, I64, I64, I64, I64, I64, I64, I64, I64},           // I64
    {F64, F32, F16, BF16, I64, I32, I32, I32, I64, I64, I32, I32, I32},           // I32
    {F64, F32, F16, BF16, I64, I32, I16, I16, I64, I64, I32, I16, I16},           // I16
    {F64, F32, F16, BF16, I64, I32, I16, I8, I64, I64, I32, I16, I8},             // I8
    {F64, F32, F16, BF16, I64, I64, I64, I64, U64, U64, U64, U64, U64},           // U64
    {F64, F32, F16, BF16, I64, I64, I64, I64, U64, U32, U32, U32, U32},           // U32
    {F64, F32, F16, BF16, I64, I32, I32, I32, U64, U32, U16, U16, U16},           // U16
    {F64, F32, F16, BF16, I64, I32, I16, I16, U64, U32, U16, U8, U8},             // U8
    {F64, F32, F16, BF16, I64, I32, I16, I8, U64, U32, U16, U8, B},               // Bool
};

}  // namespace

std::string_view name(DType dtype) { return row(dtype).name; }
std::size_t size_of(DType dtype) { return row(dtype).bytes; }
Kind kind_of(DType dtype) { return row(dtype).kind; }
DType promote(DType a, DType b) { return kPromote[static_cast<int>(a)][static_cast<int>(b)]; }

DType promote_scalar(DType tensor, Kind scalar) {
  const Kind kind = kind_of(tensor);
  if (kind <= scalar) return tensor;  // Float < Int < Bool
  return scalar == Kind::Float ? DType::F32 : DType::I64;
}

}  // namespace kiln

#include "kiln/ops/expression/tree.hpp"

namespace kiln::expr {

DType computed_in(DType dtype) {
  switch (dtype) {
    case DType::F16:
    case DType::BF16: return DType::F32;
    case DType::I16:
    case DType::I8:
    case DType::U16:
    case DType::U8:
    case DType::Bool: return DType::I32;
    default: return dtype;
  }
}

Numbers numbers_of(DType dtype) {
  switch (computed_in(dtype)) {
    case DType::F64: return kF64;
    case DType::F32: return kF32;
    case DType::I64: return kI64;
    case DType::U64: return kU64;
    case DType::U32: return kU32;
    default: return kI32;
  }
}

std::string_view short_name(DType dtype) {
  switch (computed_in(dtype)) {
    case DType::F64: return "f64";
    case DType::F32: return "f32";
    case DType::I64: return "i64";
    case DType::U64: return "u64";
    case DType::U32: return "u32";
    default: return "i32";
  }
}

const Definition* Function::definition(DType dtype) const {
  for (const Definition& definition : definitions)
    if (definition.numbers & numbers_of(dtype)) return &definition;
  return nullptr;
}

}  // namespace kiln::expr

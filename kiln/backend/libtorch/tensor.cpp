#include "kiln/backend/libtorch/tensor.hpp"

#include "kiln/backend/libtorch/allocator.hpp"

namespace kiln::libtorch {

bool has_type(DType dtype) { return dtype != DType::U64 && dtype != DType::U32 && dtype != DType::U16; }

at::ScalarType type_of(DType dtype) {
  switch (dtype) {
    case DType::F64: return at::kDouble;
    case DType::F32: return at::kFloat;
    case DType::F16: return at::kHalf;
    case DType::BF16: return at::kBFloat16;
    case DType::I64: return at::kLong;
    case DType::I32: return at::kInt;
    case DType::I16: return at::kShort;
    case DType::I8: return at::kChar;
    case DType::U8: return at::kByte;
    case DType::Bool: return at::kBool;
    case DType::U64:
    case DType::U32:
    case DType::U16: break;
  }
  fail<DeviceError>("libtorch: ATen has no element type ", dtype);
}

at::ScalarType computed_in(DType dtype) {
  return dtype == DType::F64 ? at::kDouble : is_float(dtype) ? at::kFloat : at::kLong;
}

at::Tensor tensor(const Value& value) {
  strided::Array x = strided::read(value);
  const at::TensorOptions options = at::device(at::kCPU).dtype(type_of(x.dtype));
  if (x.numel() == 0) return at::empty(to_vector(x.shape), options);
  std::vector<std::int64_t> turned;
  for (int i = x.shape.size() - 1; i >= 0; --i) {
    // Some functions of ATen look at strides that mean nothing.
    if (x.shape[i] == 1) x.strides[i] = i + 1 < x.shape.size() ? x.strides[i + 1] * x.shape[i + 1] : 1;
    if (x.strides[i] >= 0) continue;
    x.data += (x.shape[i] - 1) * x.strides[i] * static_cast<std::int64_t>(size_of(x.dtype));
    x.strides[i] = -x.strides[i];
    turned.push_back(i);
  }
  const at::Tensor shown = at::from_blob(x.data, to_vector(x.shape), to_vector(x.strides), options);
  return turned.empty() ? shown : shown.flip(turned);
}

at::Tensor computed(const Value& value) { return tensor(value).to(computed_in(value.dtype())); }

at::Tensor number(const Scalar& scalar, DType dtype) {
  return visit_dtype(dtype, [&]<class T>(TypeTag<T>) {
    T converted = scalar.to<T>();
    return at::from_blob(&converted, {}, at::device(at::kCPU).dtype(type_of(dtype))).clone();
  });
}

// A number keeps the digits that the halves beside it lack.
at::Tensor operand(const Value& value, DType dtype) {
  if (!value.is_scalar()) return computed(value);
  const bool half = is_float(dtype) && dtype != DType::F64;
  return number(value.scalar(), half ? DType::F32 : dtype).to(computed_in(dtype));
}

c10::optional<at::Tensor> optional(const Value& value) {
  if (!value.node()) return c10::nullopt;
  return computed(value).contiguous();
}

void give(Value& result, const at::Tensor& x) {
  Node& node = *result.node();
  const at::Tensor cast = x.to(type_of(node.desc.dtype));
  const std::vector<std::int64_t> shape = to_vector(node.desc.shape);
  require<DeviceError>(cast.sizes() == at::IntArrayRef(shape), "libtorch: ATen gives ",
                       Shape(cast.sizes().begin(), cast.sizes().end()), " where Kiln's table says ", node.desc.shape);
  if (const Ref<Storage> block = block_of(cast)) {
    node.storage = block;
    node.strides = Dims(cast.strides().begin(), cast.strides().end());
    node.offset = (static_cast<std::byte*>(cast.data_ptr()) - static_cast<const strided::Block&>(*block).bytes()) /
                  static_cast<std::int64_t>(size_of(node.desc.dtype));
    return;
  }
  cpu::allocate(result);
  tensor(result).copy_(cast);
}

}  // namespace kiln::libtorch

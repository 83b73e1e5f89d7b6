#include "kiln/store/pickle/numpy.hpp"

#include <cstring>

#include "kiln/core/error/shown.hpp"
#include "kiln/core/text.hpp"
#include "kiln/store/format/strided.hpp"

namespace kiln::pickle {
namespace {

struct NamedType {
  std::string_view name;
  DType dtype;
};
constexpr NamedType kTypes[] = {{"f8", DType::F64}, {"f4", DType::F32}, {"f2", DType::F16}, {"i8", DType::I64},
                                {"i4", DType::I32}, {"i2", DType::I16}, {"i1", DType::I8},  {"u8", DType::U64},
                                {"u4", DType::U32}, {"u2", DType::U16}, {"u1", DType::U8},  {"b1", DType::Bool}};

/// Protocol 2 has no type for bytes: they are characters of a text there, and those from 128 on take two bytes of
/// UTF-8. Returns an empty string if the text is not `count` bytes in either form.
std::string bytes_of(std::string_view text, std::size_t count) {
  if (text.size() == count) return std::string(text);
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto first = static_cast<unsigned char>(text[i]);
    if (first < 0x80) bytes += text[i];
    else if ((first == 0xc2 || first == 0xc3) && i + 1 < text.size())
      bytes += static_cast<char>((first & 3) << 6 | (text[++i] & 0x3f));
    else return {};
  }
  return bytes.size() == count ? bytes : std::string();
}

/// Reads the elements of a tensor of this shape. Returns false if their number differs.
bool read_elements(const Value& text, TensorData& data) {
  const auto* const letters = text.as<Text>();
  if (!letters) return false;
  const std::span<std::byte> bytes = data.bytes();
  const std::string elements = bytes_of(letters->text, bytes.size());
  if (elements.size() != bytes.size()) return false;
  if (!bytes.empty()) std::memcpy(bytes.data(), elements.data(), bytes.size());
  if (data.dtype() == DType::Bool)
    for (std::byte& flag : bytes) flag = std::byte{flag != std::byte{}};
  return true;
}

}  // namespace

Problem element_type(const List& arguments, Value& result) {
  const auto* const name = arguments.empty() ? nullptr : arguments[0]->as<Text>();
  for (const NamedType& type : kTypes)
    if (name && type.name == name->text) {
      result.is = ElementType{type.dtype};
      return {};
    }
  if (!name) return "an element type of NumPy's without a name";
  result.is = ElementType{DType::U8, name->text};
  return {};
}

Problem numpy_number(const List& arguments, Value& result) {
  const auto* const type = arguments.size() == 2 ? arguments[0]->as<ElementType>() : nullptr;
  if (!type) return "a number of NumPy's is not described by type and bytes";
  if (!type->unread.empty()) {
    result.is = nullptr;
    return {};
  }
  TensorData number({}, type->dtype);
  if (!read_elements(*arguments[1], number)) return "a number of NumPy's has not the bytes of its type";
  if (type->dtype == DType::Bool) result.is = number.to_vector<std::int64_t>()[0] != 0;
  else if (is_float(type->dtype)) result.is = number.to_vector<double>()[0];
  else result.is = number.to_vector<std::int64_t>()[0];
  return {};
}

Problem empty_array(const List&, Value& result) {
  result.is = std::make_shared<Array>(Array{TensorData({0}, DType::F32)});
  return {};
}

Problem set_byte_order(const ElementType& type, const Value& state) {
  const List* const parts = state.as<List>();
  const auto* const order = parts && parts->size() > 1 ? (*parts)[1]->as<Text>() : nullptr;
  if (type.unread.empty() && (!order || (order->text != "<" && order->text != "|" && order->text != "=")))
    return "an element type of NumPy's that is not little-endian";
  return {};
}

Problem set_elements(const Value& state, Array& array) {
  const List* const parts = state.as<List>();
  Shape shape;
  if (!parts || parts->size() != 5 || !read_dims(*(*parts)[1], shape)) return "an array of NumPy's without a shape";
  const auto* const type = (*parts)[2]->as<ElementType>();
  const auto* const column_major = (*parts)[3]->as<bool>();
  const auto* const letters = (*parts)[4]->as<Text>();
  if (type && !type->unread.empty()) {  // the elements may be anything that a pickle can contain
    array.unread = type->unread;
    array.shape = shape;
    return {};
  }
  if (!type || !column_major || !letters) return "an array of NumPy's that is not described by type, order and bytes";
  std::int64_t size = static_cast<std::int64_t>(size_of(type->dtype));
  for (const std::int64_t dim : shape)
    if (__builtin_mul_overflow(size, dim, &size)) return "an array of NumPy's beyond 2^63 - 1 bytes";
  if (static_cast<std::uint64_t>(size) > letters->text.size()) return "an array of NumPy's has too few elements";
  TensorData data(shape, type->dtype);
  if (!read_elements(*(*parts)[4], data)) return "an array of NumPy's has not as many elements as its shape";
  if (*column_major) {
    Dims strides;
    std::int64_t step = 1;
    for (const std::int64_t dim : shape) {
      strides.push_back(step);
      step *= dim;
    }
    data = gather(data.bytes(), shape, type->dtype, strides, 0);
  }
  array.data = std::move(data);
  return {};
}

}  // namespace kiln::pickle

// Several elements that are loaded or stored at once, as words of 32 bits, in GLSL with references.
#include <bit>

#include "kiln/backend/gpu/kernel/print/body.hpp"
#include "kiln/backend/gpu/kernel/print/words.hpp"
#include "kiln/core/text.hpp"
#include "kiln/ops/expression/convert.hpp"

namespace kiln::gpu {

std::string_view type_of_words(std::size_t bytes) { return bytes == 4 ? "uint" : bytes == 8 ? "uvec2" : "uvec4"; }

namespace {

std::string word_of(const std::string& words, std::size_t bytes, std::size_t i) {
  static constexpr std::string_view kParts[] = {".x", ".y", ".z", ".w"};
  return bytes == 4 ? words : text(words, kParts[i]);
}

}  // namespace

std::string element_of(const std::string& words, DType dtype, std::size_t bytes, std::size_t i) {
  const std::size_t size = size_of(dtype), at = i * size;
  const std::string word = word_of(words, bytes, at / 4);
  if (size == 8) {
    const std::string both = text("uvec2(", word, ", ", word_of(words, bytes, at / 4 + 1), ")");
    if (dtype == DType::F64) return text("packDouble2x32(", both, ")");
    return dtype == DType::I64 ? text("int64_t(packUint2x32(", both, "))") : text("packUint2x32(", both, ")");
  }
  if (dtype == DType::F32) return text("uintBitsToFloat(", word, ")");
  if (size == 4) return dtype == DType::I32 ? text("int(", word, ")") : word;
  const std::size_t low = at % 4 * 8, width = size * 8;
  if (dtype == DType::I16 || dtype == DType::I8)
    return text("(int(", word, " << ", 32 - low - width, ") >> ", 32 - width, ")");
  return text("((", word, " >> ", low, ") & ", size == 2 ? "0xffffu" : "0xffu", ")");
}

bool Body::is_in_words(DType dtype, std::size_t width) const {
  const std::size_t bytes = size_of(dtype) * width;
  return target_.has_references && width > 1 && (bytes == 4 || bytes == 8 || bytes == 16);
}

/// The place of `width` elements from `index` on, a multiple of their number.
std::string Body::words(std::uint16_t place, Id index, std::size_t width) {
  const Parameter& parameter = kernel_.parameter(place);
  const std::size_t size = size_of(parameter.dtype), bytes = size * width;
  const std::string_view access = access_of_glsl(parameter);
  const std::string type = text("KilnWords", bytes, access.empty() ? "" : access == "readonly " ? "Read" : "Shared");
  words_.insert(text("layout(buffer_reference, std430, buffer_reference_align = ", bytes, ") ", access, "buffer ", type,
                     " { ", type_of_words(bytes), " at[]; };\n"));
  if (type_of(index) == DType::U32)
    return text(type, "(", buffer(place), ").at[", name(index), " >> ", std::countr_zero(width), "]");
  return text(type, "(", moved(place, index), ").at[0]");
}

void Body::load_words(const Statement& statement, const std::string& indent) {
  const Instruction& in = statement.instruction;
  const DType dtype = kernel_.parameter(in.place).dtype;
  const std::size_t bytes = size_of(dtype) * in.width;
  const std::string loaded = text("w", statement.first);
  out_ += text(indent, type_of_words(bytes), " ", loaded, " = ", words(in.place, in.operands[0], in.width), ";\n");
  for (Id i = 0; i < in.width; ++i)
    define(statement.first + i, expr::loaded(printer_, element_of(loaded, dtype, bytes, i), dtype), indent);
}

/// Values as the words of elements of that type.
std::string Body::packed(std::span<const Id> values, DType dtype) {
  const std::size_t size = size_of(dtype), bytes = size * values.size();
  std::string all;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string element = expr::stored(printer_, name(values[i]), dtype);
    const std::size_t low = i * size % 4 * 8;
    if (low == 0 && i) all += ", ";
    if (size == 8)
      all += dtype == DType::F64 ? text("unpackDouble2x32(", element, ")")
                                 : text("unpackUint2x32(uint64_t(", element, "))");
    else if (dtype == DType::F32) all += text("floatBitsToUint(", element, ")");
    else if (size == 4) all += text("uint(", element, ")");
    else all += text(low ? " | " : "", "((uint(", element, ") & ", size == 2 ? "0xffffu" : "0xffu", ") << ", low, ")");
  }
  return text(type_of_words(bytes), "(", all, ")");
}

void Body::store_words(const Statement& statement, const std::string& indent) {
  const std::span<const Id> values = std::span(statement.operands).subspan(1);
  const DType dtype = kernel_.parameter(statement.place).dtype;
  out_ +=
      text(indent, words(statement.place, statement.operands[0], values.size()), " = ", packed(values, dtype), ";\n");
}

/// Others must see the stores of a thread only where the kernel loads from the same buffer.
std::string_view access_of_glsl(const Parameter& parameter) {
  switch (parameter.kind) {
    case Parameter::Kind::Input: return "readonly ";
    case Parameter::Kind::Output: return "";
    default: return "coherent ";
  }
}

}  // namespace kiln::gpu

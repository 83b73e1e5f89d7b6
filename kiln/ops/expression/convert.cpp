#include "kiln/ops/expression/convert.hpp"

#include "kiln/core/error/error.hpp"

namespace kiln::expr {
namespace {

using Syntax = Dialect::Syntax;

std::string call(Printer& printer, std::string_view function, DType dtype, const std::string& operand) {
  return printer.call(*find_function(function), dtype, std::span(&operand, 1));
}

std::string cast(const Printer& printer, const std::string& value, DType to) {
  const std::string_view type = printer.dialect().type(to);
  return printer.dialect().syntax == Syntax::Cpp ? text("(", type, ")(", value, ")") : text(type, "(", value, ")");
}

std::size_t bits_of(DType dtype) { return size_of(dtype) * 8; }
bool is_unsigned(DType dtype) {
  return dtype == DType::U64 || dtype == DType::U32 || dtype == DType::U16 || dtype == DType::U8;
}

/// The smallest float that is too large for the integer type, as a literal.
std::string beyond(DType to) {
  double power = 1;
  for (std::size_t bit = is_unsigned(to) ? 0 : 1; bit < bits_of(to); ++bit) power *= 2;
  return power >= 1e18 ? (is_unsigned(to) ? "18446744073709551616.0" : "9223372036854775808.0")
                       : text(static_cast<std::int64_t>(power), ".0");
}

/// A float truncated towards zero, within the limits of the integer type; 0 for NaN.
std::string integer_of_float(Printer& printer, const std::string& name, DType from, DType to) {
  const bool whole_word = computed_in(to) == to;
  const std::string limit = beyond(to);
  const std::int64_t power = whole_word ? 0 : std::int64_t{1} << (bits_of(to) - (is_unsigned(to) ? 0 : 1));
  const std::string most =
      whole_word ? printer.call(*find_function("highest"), to, {}) : printer.literal(text(power - 1), to);
  const std::string least = is_unsigned(to) ? printer.literal("0", to)
                            : whole_word    ? printer.call(*find_function("lowest"), to, {})
                                            : text("(-", printer.literal(text(power), to), ")");
  const std::string low = text("-", printer.literal(limit, from));
  const std::string above = text(name, " >= ", printer.literal(limit, from));
  const std::string below = text(name, " <= ", is_unsigned(to) ? printer.literal("0", from) : low);
  const std::string inside = printer.choice(below, least, cast(printer, name, to));
  return printer.choice(call(printer, "is_nan", from, name), printer.literal("0", to),
                        printer.choice(above, most, inside));
}

}  // namespace

std::string narrowed(Printer& printer, const std::string& value, DType dtype) {
  switch (dtype) {
    case DType::F16: return call(printer, "round_to_f16", dtype, value);
    case DType::BF16: return call(printer, "round_to_bf16", dtype, value);
    case DType::I16: return call(printer, "to_i16", dtype, value);
    case DType::I8: return call(printer, "to_i8", dtype, value);
    case DType::U16: return call(printer, "to_u16", dtype, value);
    case DType::U8: return call(printer, "to_u8", dtype, value);
    case DType::Bool: return call(printer, "to_bool", dtype, value);
    default: return value;
  }
}

std::string converted(Printer& printer, const std::string& name, DType from, DType to) {
  require<DTypeError>(converts(printer.dialect(), from, to), printer.dialect().name, " does not convert ", from, " to ",
                      to);
  if (from == to) return name;
  const DType source = computed_in(from), target = computed_in(to);
  if (to == DType::Bool)
    return printer.choice(text(name, " != ", printer.literal("0", source)), printer.literal("1", to),
                          printer.literal("0", to));
  if (is_float(from) && !is_float(to)) return integer_of_float(printer, name, source, to);
  const bool half = size_of(to) == 2 && is_float(to);
  if (half && source == DType::F64)
    return narrowed(printer, call(printer, "from_bits", to, call(printer, "bits_of_odd_float", from, name)), to);
  const bool exact = size_of(from) <= 2;  // float32 holds all integers of 16 bits
  if (half && !is_float(from) && !exact)
    return narrowed(printer, cast(printer, call(printer, "round_to_odd", source, name), to), to);
  return narrowed(printer, source == target ? name : cast(printer, name, to), to);
}

bool converts(const Dialect& dialect, DType from, DType to) {
  return dialect.numbers & numbers_of(from) && dialect.numbers & numbers_of(to);
}

std::string_view stored_type(const Dialect& dialect, DType dtype) {
  const bool cpp = dialect.syntax == Syntax::Cpp;
  if (dialect.syntax == Syntax::Wgsl && size_of(dtype) < 4) return "u32";
  switch (dtype) {
    case DType::F16:
    case DType::BF16:
    case DType::U16: return cpp ? "unsigned short" : "uint16_t";
    case DType::I16: return cpp ? "short" : "int16_t";
    case DType::I8: return cpp ? "signed char" : "int8_t";
    case DType::U8:
    case DType::Bool: return cpp ? "unsigned char" : "uint8_t";
    default: return dialect.type(dtype);
  }
}

std::string loaded(Printer& printer, const std::string& bits, DType dtype) {
  if (dtype == DType::F16) return call(printer, "from_bits_of_f16", dtype, cast(printer, bits, DType::U32));
  if (dtype == DType::BF16) return call(printer, "from_bits_of_bf16", dtype, cast(printer, bits, DType::U32));
  if (computed_in(dtype) == dtype) return bits;
  const std::string value = cast(printer, bits, dtype);
  // An element taken from a word of several has no sign yet.
  const bool packed = printer.dialect().syntax == Syntax::Wgsl && (dtype == DType::I8 || dtype == DType::I16);
  return packed ? narrowed(printer, value, dtype) : value;
}

std::string stored(Printer& printer, const std::string& value, DType dtype) {
  std::string bits = value;
  if (dtype == DType::F16) bits = call(printer, "bits_of_f16", dtype, value);
  if (dtype == DType::BF16) bits = call(printer, "bits_of_bf16", dtype, value);
  if (size_of(dtype) >= 4) return bits;
  const std::string_view type = stored_type(printer.dialect(), dtype);
  return printer.dialect().syntax == Syntax::Cpp ? text("(", type, ")(", bits, ")") : text(type, "(", bits, ")");
}

}  // namespace kiln::expr

// All rows in a dialect: as a list to read, and as a shader for a compiler to accept.
#pragma once
#include "kiln/ops/expression/print.hpp"
#include "kiln/ops/expression/rows.hpp"
#include "tests/ops/expression/operands.hpp"

namespace kiln::expr {

/// Calls f(fn, its name) for each row.
template <class F>
void each_row(F&& f) {
  for (std::size_t i = 0; i < kUnaryCount; ++i) f(static_cast<op::UnaryFn>(i));
  for (std::size_t i = 0; i < kBinaryCount; ++i) f(static_cast<op::BinaryFn>(i));
}

template <class Fn>
bool is_printed(const Dialect& dialect, Fn fn, DType dtype) {
  // Booleans are computed in int32.
  const bool computed = computes(op::domain(fn), dtype) || (op::domain(fn) == op::Domain::Bool && dtype == DType::I32);
  return computed && supports(dialect, tree(fn), dtype);
}

/// "f32 exp: exp(x)" for each row and the types given, then the library.
inline std::string listing(const Dialect& dialect, std::span<const DType> types) {
  Printer printer(dialect);
  const std::string names[] = {"x", "y"};
  std::string out = std::string(dialect.preamble);
  each_row([&](auto fn) {
    for (const DType dtype : types)
      if (is_printed(dialect, fn, dtype))
        out += text(short_name(dtype), " ", op::name(fn), ": ", printer.expression(tree(fn), dtype, names), "\n");
  });
  return out + "\n" + printer.library();
}

/// A function for each row and type, and a main that does nothing.
inline std::string shader(const Dialect& dialect) {
  Printer printer(dialect);
  const bool wgsl = dialect.syntax == Dialect::Syntax::Wgsl;
  const std::string names[] = {"x", "y"};
  std::string functions;
  each_row([&](auto fn) {
    for (const DType dtype : kComputed) {
      if (!is_printed(dialect, fn, dtype)) continue;
      const std::string value = printer.expression(tree(fn), dtype, names);
      const std::string_view type = dialect.type(dtype), result = op::yields_bool(fn) ? "bool" : type;
      const bool two = std::is_same_v<decltype(fn), op::BinaryFn>;
      const std::string name = text("row_", op::name(fn), "_", short_name(dtype));
      if (wgsl)
        functions += text("fn ", name, "(x: ", type, two ? text(", y: ", type) : "", ") -> ", result, " {\n  return ",
                          value, ";\n}\n");
      else
        functions += text(result, " ", name, "(", type, " x", two ? text(", ", type, " y") : "", ") {\n  return ",
                          value, ";\n}\n");
    }
  });
  const std::string_view main =
      wgsl ? "@compute @workgroup_size(1) fn main() {}\n" : "layout(local_size_x = 1) in;\nvoid main() {}\n";
  return text(dialect.preamble, printer.library(), functions, main);
}

}  // namespace kiln::expr

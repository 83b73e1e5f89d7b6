// All rows in a dialect: as a list to read, and, with the functions of special.def, as a shader for a compiler to accept.
#pragma once
#include "kiln/ops/expression/draw.hpp"
#include "kiln/ops/expression/print.hpp"
#include "kiln/ops/expression/rows.hpp"
#include "tests/ops/expression/operands.hpp"

namespace kiln::expr {

/// Calls f(fn, its name) for each row.
template <class F>
void each_row(F&& f) {
  for (std::size_t i = 0; i < enumerator_count(op::UnaryFn()); ++i) f(static_cast<op::UnaryFn>(i));
  for (std::size_t i = 0; i < enumerator_count(op::BinaryFn()); ++i) f(static_cast<op::BinaryFn>(i));
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
  const std::string names[] = {"x", "y", "w"};
  std::string functions;
  const auto add = [&](std::string_view function, const Tree& tree, int operands, DType dtype) {
    const std::string value = printer.expression(tree, dtype, names);
    const std::string_view type = dialect.type(dtype), result = tree.root().type == Type::Bool ? "bool" : type;
    std::string parameters;
    for (int i = 0; i < operands; ++i) {
      const std::string& name = names[static_cast<std::size_t>(i)];
      parameters += text(i > 0 ? ", " : "", wgsl ? text(name, ": ", type) : text(type, " ", name));
    }
    const std::string name = text("row_", function, "_", short_name(dtype), "(", parameters, ")");
    functions +=
        text(wgsl ? text("fn ", name, " -> ", result) : text(result, " ", name), " {\n  return ", value, ";\n}\n");
  };
  each_row([&](auto fn) {
    for (const DType dtype : kComputed)
      if (is_printed(dialect, fn, dtype))
        add(op::name(fn), tree(fn), std::is_same_v<decltype(fn), op::BinaryFn> ? 2 : 1, dtype);
  });
  for (std::size_t i = 0; i < kSpecialCount; ++i) {
    const auto fn = static_cast<op::SpecialFn>(i);
    if (supports(dialect, tree(fn), DType::F32)) add(op::name(fn), tree(fn), arity(fn), DType::F32);
  }
  add("gcd", greatest_common_divisor(), 2, DType::I32);
  for (const auto distribution : {op::Distribution::TruncatedNormal, op::Distribution::Gamma, op::Distribution::Beta,
                                  op::Distribution::Poisson, op::Distribution::Categorical}) {
    const std::string words = text(dialect.word(), "(1)");
    const std::string drawn[] = {"x", "y", words, words, words, words};
    const std::string value = printer.expression(*sample(distribution), DType::F32, drawn);
    const std::string name = text("sample_", static_cast<int>(distribution));
    functions += wgsl ? text("fn ", name, "(x: f32, y: f32) -> f32 {\n  return ", value, ";\n}\n")
                      : text("float ", name, "(float x, float y) {\n  return ", value, ";\n}\n");
  }
  const std::string_view main =
      wgsl ? "@compute @workgroup_size(1) fn main() {}\n" : "layout(local_size_x = 1) in;\nvoid main() {}\n";
  return text(dialect.preamble, printer.library(), functions, main);
}

}  // namespace kiln::expr

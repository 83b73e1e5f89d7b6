// Writes C++ with a function for each row and type, as printed, for the build to compile and a test to call:
// `native` with what C++ has, `portable` with no more than what shaders have.
#include <cstdio>

#include "kiln/ops/expression/print.hpp"
#include "kiln/ops/expression/rows.hpp"
#include "tests/ops/expression/operands.hpp"
#include "tests/ops/expression/portable.hpp"

namespace kiln::expr {
namespace {

std::string functions, entries, special_entries;

template <class Fn>
void print_row(Printer& printer, Fn fn, int index, std::string_view set) {
  constexpr bool kTwo = std::is_same_v<Fn, op::BinaryFn>;
  for (const DType dtype : kComputed) {
    // What booleans are computed in has rows of its own.
    const bool computed =
        computes(op::domain(fn), dtype) || (op::domain(fn) == op::Domain::Bool && dtype == DType::I32);
    if (!computed || !supports(printer.dialect(), tree(fn), dtype)) continue;
    const std::string names[] = {"x", "y"};
    std::string value = printer.expression(tree(fn), dtype, names);
    if (tree(fn).root().type == Type::Bool)
      value = printer.choice(value, printer.literal("1", dtype), printer.literal("0", dtype));
    const std::string_view type = printer.dialect().type(dtype);
    const std::string name = text(kTwo ? "binary_" : "unary_", index, "_", short_name(dtype));
    functions += text("void ", name, "(const void* in_x, const void* in_y, void* out, long count) {\n",
                      "  for (long i = 0; i < count; ++i) {\n    [[maybe_unused]] const ", type, " x = ((const ", type,
                      "*)in_x)[i];\n",
                      kTwo ? text("    const ", type, " y = ((const ", type, "*)in_y)[i];\n") : "    (void)in_y;\n",
                      "    ((", type, "*)out)[i] = ", value, ";\n  }\n}\n");
    entries += text("    {\"", set, "\", ", kTwo ? 2 : 1, ", ", index, ", ", static_cast<int>(dtype), ", ", set,
                    "::", name, "},\n");
  }
}

void print_special(Printer& printer, op::SpecialFn fn, int index, std::string_view set) {
  constexpr std::string_view kNames[] = {"x", "y", "w"};
  for (const DType dtype : {DType::F64, DType::F32}) {
    if (!supports(printer.dialect(), tree(fn), dtype)) continue;
    const std::string names[] = {"x", "y", "w"};
    const std::string value = printer.expression(tree(fn), dtype, names);
    const std::string_view type = printer.dialect().type(dtype);
    const std::string name = text("special_", index, "_", short_name(dtype));
    functions +=
        text("void ", name, "(const void* in_x, const void* in_y, const void* in_w, void* out, long count) {\n",
             "  (void)in_y;\n  (void)in_w;\n  for (long i = 0; i < count; ++i) {\n");
    for (int i = 0; i < arity(fn); ++i) {
      const std::string_view operand = kNames[i];
      functions += text("    const ", type, " ", operand, " = ((const ", type, "*)in_", operand, ")[i];\n");
    }
    functions += text("    ((", type, "*)out)[i] = ", value, ";\n  }\n}\n");
    special_entries +=
        text("    {\"", set, "\", ", index, ", ", static_cast<int>(dtype), ", ", set, "::", name, "},\n");
  }
}

/// All rows, with the library that they need before them.
void print_rows(const Dialect& dialect, std::string_view set) {
  Printer printer(dialect);
  functions.clear();
  for (std::size_t i = 0; i < enumerator_count(op::UnaryFn()); ++i)
    print_row(printer, static_cast<op::UnaryFn>(i), static_cast<int>(i), set);
  for (std::size_t i = 0; i < enumerator_count(op::BinaryFn()); ++i)
    print_row(printer, static_cast<op::BinaryFn>(i), static_cast<int>(i), set);
  for (std::size_t i = 0; i < kSpecialCount; ++i)
    print_special(printer, static_cast<op::SpecialFn>(i), static_cast<int>(i), set);
  std::printf("namespace %s {\n%s%s}\n", std::string(set).c_str(), printer.library().c_str(), functions.c_str());
}

}  // namespace
}  // namespace kiln::expr

int main() {
  using namespace kiln::expr;
  std::printf("#include \"tests/ops/expression/printed.hpp\"\n%s", std::string(kCpp.preamble).c_str());
  print_rows(kCpp, "native");
  print_rows(portable(), "portable");
  std::printf("const kiln::expr::PrintedRow kiln::expr::kPrintedRows[] = {\n%s    {nullptr, 0, 0, 0, nullptr},\n};\n",
              entries.c_str());
  std::printf(
      "const kiln::expr::PrintedSpecial kiln::expr::kPrintedSpecials[] = {\n%s    {nullptr, 0, 0, nullptr},\n};\n",
      special_entries.c_str());
}

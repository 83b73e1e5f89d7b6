#include "kiln/ops/expression/kernel.hpp"

#include <algorithm>

#include "kiln/core/error/error.hpp"
#include "kiln/ops/expression/combiner.hpp"
#include "kiln/ops/expression/convert.hpp"
#include "kiln/ops/expression/program.hpp"
#include "kiln/ops/expression/step.hpp"

namespace kiln::expr {
namespace {

using Syntax = Dialect::Syntax;
using op::Program;

constexpr int kInvocations = 256;

/// The number of elements that share a word of memory, which only one invocation may write.
std::int64_t per_word(const Dialect& dialect, DType dtype) {
  const auto size = static_cast<std::int64_t>(size_of(dtype));
  return dialect.syntax == Syntax::Wgsl && size < 4 ? 4 / size : 1;
}

class Kernel {
 public:
  Kernel(const Program& program, std::span<const Access> inputs, const Dialect& dialect, std::string_view name)
      : program_(program), inputs_(inputs), dialect_(dialect), name_(name), printer_(dialect) {
    for (const Program::Fold& fold : program.folds) {
      require<ArgumentError>(fold.dims == program.folds[0].dims, name, ": folds over different dimensions");
      for (const std::int64_t dim : fold.dims)
        if (&fold == &program.folds[0]) row_ *= program.shape[static_cast<int>(dim)];
    }
    for (const std::uint16_t step : program.outputs) each_ = std::max(each_, per_word(dialect, dtype(step)));
  }

  KernelText print() {
    const std::string body = folds() ? rows() : elements();
    const std::int64_t all = numel(program_.shape);
    std::string out = std::string(dialect_.preamble) + printer_.library() + head() + body + "}\n";
    return {std::move(out), folds() ? (row_ ? all / row_ : 0) : all, each_};
  }

 private:
  bool folds() const { return !program_.folds.empty(); }
  DType dtype(std::uint16_t step) const { return program_.steps[step].dtype; }
  bool cpp() const { return dialect_.syntax == Syntax::Cpp; }
  bool wgsl() const { return dialect_.syntax == Syntax::Wgsl; }
  std::string_view index() const { return cpp() ? "unsigned long long" : dialect_.word(); }
  std::string place(std::int64_t number) const { return text(number, cpp() ? "ull" : "u"); }
  std::string let(std::string_view type, std::string_view name, std::string_view value) const {
    return printer_.declaration(type, name, value, false) + "\n";
  }

  // ---- parameters ----
  struct Parameter {
    std::string name;
    DType dtype;
    bool number, written;
  };
  std::vector<Parameter> parameters() const {
    std::vector<Parameter> all;
    for (std::size_t i = 0; i < inputs_.size(); ++i)
      all.push_back({text(inputs_[i].number ? "n" : "in", i), program_.inputs[i], inputs_[i].number, false});
    std::size_t place = 0;
    for (const std::uint16_t step : program_.outputs) all.push_back({text("out", place++), dtype(step), false, true});
    for (const Program::Fold& fold : program_.folds)
      all.push_back({text("out", place++), result_type(program_, fold), false, true});
    return all;
  }
  std::string head() const {
    std::string out;
    const std::vector<Parameter> all = parameters();
    if (cpp()) {
      const bool host = dialect_.name == kCpp.name;
      out = text(host ? "void " : "extern \"C\" __global__ void ", name_, "(");
      for (const Parameter& p : all)
        out += text(p.written ? "" : "const ", p.number ? dialect_.type(p.dtype) : stored_type(dialect_, p.dtype),
                    p.number ? " " : "* ", p.name, ", ");
      out += "unsigned long long count) {\n";
      out += host ? "  for (unsigned long long at = 0; at < count; ++at) {\n"
                  : "  const unsigned long long at = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;\n"
                    "  if (at < count) {\n";
      return out;
    }
    int binding = 0;
    std::string numbers = wgsl() ? "  count: u32,\n" : "  uint count;\n";
    for (const Parameter& p : all) {
      const std::string_view type = p.number ? dialect_.type(p.dtype) : stored_type(dialect_, p.dtype);
      if (p.number) numbers += wgsl() ? text("  ", p.name, ": ", type, ",\n") : text("  ", type, " ", p.name, ";\n");
      else if (wgsl())
        out += text("@group(0) @binding(", binding++, ") var<storage, ", p.written ? "read_write" : "read", "> ",
                    p.name, ": array<", type, ">;\n");
      else
        out += text("layout(std430, binding = ", binding++, ") ", p.written ? "writeonly" : "readonly",
                    " buffer Buffer_", p.name, " { ", type, " ", p.name, "[]; };\n");
    }
    if (wgsl())
      return text(out, "struct Numbers {\n", numbers, "}\n@group(0) @binding(", binding,
                  ") var<uniform> numbers: Numbers;\n@compute @workgroup_size(", kInvocations, ")\nfn ", name_,
                  "(@builtin(global_invocation_id) id: vec3<u32>) {\n");
    return text(out, "layout(push_constant) uniform Numbers {\n", numbers,
                "} numbers;\nlayout(local_size_x = ", kInvocations, ") in;\nvoid main() {\n");
  }

  // ---- an element ----
  /// The offset of the program's element i in input k.
  std::string offset(std::size_t k) const {
    const Dims& strides = inputs_[k].strides;
    if (strides == contiguous_strides(program_.shape)) return "i";
    std::string sum;
    std::int64_t below = 1;
    for (int dim = program_.shape.size(); dim-- > 0; below *= program_.shape[dim]) {
      if (strides[dim] == 0 || program_.shape[dim] == 1) continue;
      const std::string at = below == 1 ? "i" : text("(i / ", place(below), ")");
      const std::int64_t stride = strides[dim];
      const std::string term = text(at, " % ", place(program_.shape[dim]), " * ", place(stride < 0 ? -stride : stride));
      sum += text(sum.empty() ? (stride < 0 ? "0 - " : "") : stride < 0 ? " - " : " + ", "(", term, ")");
    }
    if (cpp() && !sum.empty()) return text("(long long)(", sum, ")");
    return sum.empty() ? place(0) : sum;
  }
  std::string load(std::size_t k) {
    const DType dtype = program_.inputs[k];
    if (inputs_[k].number) return cpp() ? text("n", k) : text("numbers.n", k);
    const std::int64_t shared = per_word(dialect_, dtype);
    if (shared == 1) return loaded(printer_, text("in", k, "[", offset(k), "]"), dtype);
    const auto bits = static_cast<std::int64_t>(size_of(dtype)) * 8;
    const std::string at = offset(k);
    return loaded(printer_,
                  text("(in", k, "[(", at, ") / ", place(shared), "] >> ((", at, ") % ", place(shared), " * ",
                       place(bits), ")) & ", place((1 << bits) - 1)),
                  dtype);
  }
  std::string name_of(op::ProgramOperand operand) const {
    return text(operand.from == op::ProgramOperand::Input ? "a" : "s", operand.index);
  }
  bool is_number(op::ProgramOperand operand) const {
    return operand.from == op::ProgramOperand::Input && inputs_[operand.index].number;
  }
  std::string value_of(const op::ProgramStep& step) {
    return printed_step(
        printer_, program_, step, [&](op::ProgramOperand operand) { return name_of(operand); },
        [&](op::ProgramOperand operand) { return is_number(operand); });
  }
  /// Prints the loads and steps for element i.
  std::string steps(const std::string& indent) {
    std::string out;
    for (std::size_t k = 0; k < program_.inputs.size(); ++k)
      out += indent + let(dialect_.type(program_.inputs[k]), text("a", k), load(k));
    for (std::size_t k = 0; k < program_.steps.size(); ++k)
      out +=
          indent + let(dialect_.type(dtype(static_cast<std::uint16_t>(k))), text("s", k), value_of(program_.steps[k]));
    return out;
  }
  std::string store(const std::string& indent) {
    std::string out;
    for (std::size_t k = 0; k < program_.outputs.size(); ++k) {
      const DType type = dtype(program_.outputs[k]);
      const std::string value = stored(printer_, text("s", program_.outputs[k]), type);
      const std::int64_t shared = per_word(dialect_, type);
      if (shared == 1) {
        out += text(indent, "out", k, "[i] = ", value, ";\n");
        continue;
      }
      const auto bits = static_cast<std::int64_t>(size_of(type)) * 8;
      out += text(indent, "word", k, " = word", k, " | ((", value, " & ", place((1 << bits) - 1), ") << (i % ",
                  place(shared), " * ", place(bits), "));\n", indent, "if (i % ", place(shared),
                  " == ", place(shared - 1), " || i + 1u == numbers.count) {\n", indent, "  out", k, "[i / ",
                  place(shared), "] = word", k, ";\n", indent, "  word", k, " = 0u;\n", indent, "}\n");
    }
    return out;
  }

  // ---- all of them ----
  std::string elements() {
    if (cpp()) return "    const unsigned long long i = at;\n" + steps("    ") + store("    ") + "  }\n";
    if (!wgsl())
      return "  const uint i = gl_GlobalInvocationID.x;\n  if (i < numbers.count) {\n" + steps("    ") + store("    ") +
             "  }\n";
    std::string out;
    for (std::size_t k = 0; k < program_.outputs.size(); ++k)
      if (per_word(dialect_, dtype(program_.outputs[k])) > 1) out += text("  var word", k, " = 0u;\n");
    return text(out, "  for (var lane = 0u; lane < ", place(each_), "; lane = lane + 1u) {\n    let i = id.x * ",
                place(each_), " + lane;\n    if (i < numbers.count) {\n", steps("      "), store("      "),
                "    }\n  }\n");
  }
  /// Prints rows: each invocation computes, stores and reduces the elements of one row.
  std::string rows() {
    require<DTypeError>(each_ == 1, name_, ": folds beside results whose rows share words of memory");
    std::string out;
    if (cpp()) {
      out = "    const unsigned long long row = at;\n";
    } else {
      out = wgsl() ? "  let row = id.x;\n" : "  const uint row = gl_GlobalInvocationID.x;\n";
      out += "  if (row < numbers.count) {\n";
    }
    std::string fold_in, finish;
    for (std::size_t k = 0; k < program_.folds.size(); ++k) {
      const Program::Fold& fold = program_.folds[k];
      const DType from = folded_type(program_, fold), in = accumulator(fold.fn, from), to = result_type(program_, fold);
      const Combiner& combiner = expr::combiner(fold.fn);
      const std::string part = text("f", k), element = text("e", k), made = text("r", k);
      out += "    " +
             printer_.declaration(dialect_.type(in), part, printer_.expression(combiner.identity, in, {}), true) + "\n";
      fold_in += "      " + let(dialect_.type(in), element, converted(printer_, text("s", fold.step), from, in));
      const std::string pair[] = {part, element}, all[] = {part, printer_.literal(text(row_), in)};
      fold_in += text("      ", part, " = ", printer_.expression(combiner.combine, in, pair), ";\n");
      finish += "    " + let(dialect_.type(in), made, printer_.expression(combiner.finish, in, all));
      const bool rounds = is_float(to) && size_of(to) == 2;
      const std::string value = rounds ? narrowed(printer_, made, to) : made;
      finish += text("    out", program_.outputs.size() + k, "[row] = ", stored(printer_, value, to), ";\n");
    }
    const std::string_view counter = wgsl() ? "var j" : cpp() ? "unsigned long long j" : "uint j";
    out += text("    for (", counter, " = ", place(0), "; j < ", place(row_), "; j = j + ", place(1), ") {\n      ",
                let(index(), "i", text("row * ", place(row_), " + j")), steps("      "), store("      "), fold_in,
                "    }\n", finish, "  }\n");
    return out;
  }

  const Program& program_;
  std::span<const Access> inputs_;
  const Dialect& dialect_;
  const std::string name_;
  Printer printer_;
  std::int64_t row_ = 1, each_ = 1;
};

}  // namespace

bool supports(const Dialect& dialect, const Program& program) {
  const auto has = [&](DType dtype) { return (dialect.numbers & numbers_of(dtype)) != 0; };
  bool packed = false;
  for (const std::uint16_t step : program.outputs) packed |= per_word(dialect, program.steps[step].dtype) > 1;
  for (const Program::Fold& fold : program.folds) {
    const DType dtype = folded_type(program, fold);
    packed |= per_word(dialect, result_type(program, fold)) > 1;
    if (!fold.kept(program.shape) || fold.dims != program.folds[0].dims) return false;
    if (packed || !has(accumulator(fold.fn, dtype))) return false;
  }
  return std::all_of(program.inputs.begin(), program.inputs.end(), has) &&
         std::all_of(program.steps.begin(), program.steps.end(), [&](const op::ProgramStep& step) {
           const Tree* tree = tree_of(program, step);
           return has(step.dtype) && (!tree || supports(dialect, *tree, operand_type(program, step)));
         });
}

KernelText print_kernel(const Program& program, std::span<const Access> inputs, const Dialect& dialect,
                        std::string_view name) {
  KILN_CHECK(inputs.size() == program.inputs.size());
  require<DTypeError>(supports(dialect, program), name, ": ", dialect.name,
                      " lacks a type or a function of the program");
  return Kernel(program, inputs, dialect, name).print();
}

}  // namespace kiln::expr

#include "kiln/compile/print_loop.hpp"

#include <algorithm>
#include <map>

#include "kiln/compile/literal.hpp"
#include "kiln/compile/nesting.hpp"
#include "kiln/compile/tile.hpp"
#include "kiln/core/error/error.hpp"
#include "kiln/ops/expression/combiner.hpp"
#include "kiln/ops/expression/convert.hpp"
#include "kiln/ops/expression/program.hpp"
#include "kiln/ops/expression/step.hpp"

namespace kiln::compile {
namespace {

class LoopPrinter {
 public:
  LoopPrinter(const Program& program, const Loop& loop, expr::Printer& printer)
      : program_(program), loop_(coalesced(loop)), printer_(printer) {
    for (const Operand& operand : loop_.value.in) {
      types_.inputs.push_back(operand.dtype);
      may_fail_ = may_fail_ || (!operand.is_number && operand.access.index >= 0);
    }
    for (const Access& out : loop_.out) may_fail_ = may_fail_ || (out.buffer >= 0 && out.index >= 0);
    types_.steps.assign(loop_.value.steps.begin(), loop_.value.steps.end());
  }

  LoopText print() {
    LoopText out;
    out.may_fail = may_fail_;
    parameters(out);
    out.body = declarations() + nest();
    if (may_fail_) out.body += "  return 0;\n";
    return out;
  }

 private:
  std::string type(DType dtype) const { return std::string(printer_.dialect().type(dtype)); }
  int depth() const { return static_cast<int>(loop_.sizes.size()); }
  static std::string indent(int level) { return std::string(static_cast<std::size_t>(2 * level + 2), ' '); }

  // ---- parameters ----
  void parameters(LoopText& out) {
    const std::string only = overlaps(loop_) ? "" : " KILN_RESTRICT";
    const auto add = [&](const std::string& declared, const Access& access, bool written) {
      out.parameters += text(out.parameters.empty() ? "" : ", ", declared);
      out.arguments.emplace_back(access, written);
    };
    for (std::size_t k = 0; k < loop_.out.size(); ++k)
      if (const Access& to = loop_.out[k]; to.buffer >= 0)
        add(text(memory_type(program_[to.buffer].dtype), "*", only, " out", k), to, true);
    for (std::size_t k = 0; k < loop_.value.in.size(); ++k)
      if (const Operand& operand = loop_.value.in[k]; !operand.is_number)
        add(text("const ", memory_type(program_[operand.access.buffer].dtype), "*", only, " in", k), operand.access,
            false);
  }

  // ---- places ----
  std::string place(const Counts& strides, std::int64_t offset = 0) const {
    std::string sum;
    for (std::size_t d = 0; d < strides.size(); ++d) {
      const std::int64_t stride = strides[d];
      if (stride == 0) continue;
      const std::int64_t size = stride < 0 ? -stride : stride;
      const std::string sign = stride < 0 ? (sum.empty() ? "-" : " - ") : sum.empty() ? "" : " + ";
      const bool moved = moved_.first == static_cast<int>(d) && moved_.second > 0;
      const std::string at = moved ? text("(i", d, " + ", moved_.second, ")") : text("i", d);
      sum += text(sign, at, size == 1 ? "" : text(" * ", size));
    }
    if (offset != 0 || sum.empty())
      sum += text(sum.empty() ? "" : offset < 0 ? " - " : " + ", sum.empty() || offset > 0 ? offset : -offset);
    return sum;
  }
  /// The element's place; its index, if it has one, is the variable `at`. Padding begins before the tensor: no pointer may
  /// stand there, so that such an offset is a part of the place.
  std::string place(const Access& access, std::string_view at) const {
    const std::string fixed = place(access.strides, std::min<std::int64_t>(access.offset, 0));
    if (access.index < 0) return fixed;
    return text(fixed == "0" ? "" : fixed + " + ", "(int)", at,
                access.index_stride == 1 ? "" : text(" * ", access.index_stride));
  }
  /// Declares `at`, the index of an access, and leaves the function if it is out of range.
  std::string checked_index(const Access& access, std::string_view at, const std::string& in) const {
    if (access.index < 0) return "";
    return text(in, "const long long ", at, " = (long long)a", access.index, ";\n", in, "if (", at, " < 0 || ", at,
                " >= ", access.index_size, ") return 1;\n");
  }

  // ---- the value ----
  std::string name_of(op::ProgramOperand operand) const {
    if (operand.from == op::ProgramOperand::Result) return text("s", operand.index);
    const Operand& in = loop_.value.in[operand.index];
    return in.is_number ? literal(printer_, in.number, in.dtype) : text("a", operand.index);
  }
  std::string loads_and_steps(int level) {
    const std::string in = indent(level);
    std::string out;
    for (std::size_t k = 0; k < loop_.value.in.size(); ++k) {
      const Operand& operand = loop_.value.in[k];
      if (operand.is_number) continue;
      const Buffer& buffer = program_[operand.access.buffer];
      out += checked_index(operand.access, text("at", k), in);
      const std::string bits = text("in", k, "[", place(operand.access, text("at", k)), "]");
      const std::string value = expr::loaded(printer_, bits, buffer.dtype);
      out += text(in, "const ", type(operand.dtype), " a", k, " = ", value, ";\n");
    }
    for (std::size_t k = 0; k < types_.steps.size(); ++k) {
      const std::string value = expr::printed_step(
          printer_, types_, types_.steps[k], [&](op::ProgramOperand operand) { return name_of(operand); },
          [&](op::ProgramOperand operand) {
            return operand.from == op::ProgramOperand::Input && loop_.value.in[operand.index].is_number;
          });
      out += text(in, "const ", type(types_.steps[k].dtype), " s", k, " = ", value, ";\n");
    }
    return out;
  }
  std::string value() const { return name_of(loop_.value.value); }
  /// The value in the type in which values are folded.
  std::string folded_value() { return expr::converted(printer_, value(), loop_.value.dtype(), loop_.accumulator); }
  std::string combined(const std::string& before, const std::string& value) {
    const std::string pair[] = {before, value};
    return printer_.expression(expr::combiner(loop_.fn).combine, loop_.accumulator, pair);
  }
  std::string assignment(std::size_t k, const std::string& value, int level) {
    const Access& to = loop_.out[k];
    return text(indent(level), "out", k, "[", place(to, "to"),
                "] = ", expr::stored(printer_, value, program_[to.buffer].dtype), ";\n");
  }
  /// A folded number as an element of the result.
  std::string narrowed(const std::string& value) {
    const DType to = program_[loop_.out[0].buffer].dtype;
    const bool half = is_float(to) && size_of(to) == 2;
    return half ? expr::narrowed(printer_, value, to) : value;
  }

  // ---- loops ----
  std::string declarations() const {
    std::string out;
    for (int d = 0; d < depth(); ++d) out += text(d ? ", i" : "  int i", d);
    return out.empty() ? "" : out + ";\n";
  }
  std::string head(int d) const {
    std::string from = "0", to = text(loop_.sizes[static_cast<std::size_t>(d)]), before;
    int number = 0;
    for (const Guard& guard : loop_.guards) {
      const std::int64_t step = guard.strides[static_cast<std::size_t>(d)];
      const bool inner = std::any_of(guard.strides.begin() + d + 1, guard.strides.end(),
                                     [](std::int64_t stride) { return stride != 0; });
      if (step == 0 || inner) continue;
      Counts outer = guard.strides;
      outer[static_cast<std::size_t>(d)] = 0;
      const std::string base = place(outer, guard.offset), name = text(d, number++ ? text("_", number) : "");
      before += text(indent(d), "const int from", name, " = kiln_from(", base, ", ", step, ", ", from, ");\n");
      before +=
          text(indent(d), "const int to", name, " = kiln_to(", base, ", ", step, ", ", guard.size, ", ", to, ");\n");
      from = text("from", name);
      to = text("to", name);
    }
    const auto stride = stride_of_.find(d);
    const std::string next = stride == stride_of_.end() ? text("++i", d) : text("i", d, " += ", stride->second);
    return text(before, indent(d), "for (i", d, " = ", from, "; i", d, " < ", to, "; ", next, ") {\n");
  }
  std::string heads(int first, int last) const {
    std::string out;
    for (int d = first; d < last; ++d) out += head(d);
    return out;
  }
  static std::string ends(int first, int last) {
    std::string out;
    for (int d = last; d-- > first;) out += indent(d) + "}\n";
    return out;
  }
  /// A block of its own at depth 0, as a function may hold several.
  std::string nest() {
    switch (loop_.mode) {
      case Mode::Store:
      case Mode::Update: return each_element();
      case Mode::Fold: return loop_.tiled ? tiles() : folds();
      case Mode::Scan: return folds();
      case Mode::Extreme: break;
    }
    return extremes();
  }

  std::string each_element() {
    const int level = depth();
    if (loop_.mode == Mode::Update) return each_update();
    return heads(0, level) + loads_and_steps(level) + checked_index(loop_.out[0], "to", indent(level)) +
           assignment(0, value(), level) + ends(0, level);
  }

  std::string each_update() {
    const int level = depth();
    const Access& to = loop_.out[0];
    const std::int64_t steps = steps_at_once(loop_);
    if (steps > 1) stride_of_[level - 2] = steps;
    const std::string before = expr::loaded(printer_, text("out0[", place(to, "to"), "]"), program_[to.buffer].dtype);
    const std::string sum = text(type(loop_.accumulator), " sum = ");
    std::string out = heads(0, level);
    if (steps == 1) {
      out += loads_and_steps(level) + checked_index(to, "to", indent(level));
      out += text(indent(level), "const ", sum, combined(before, folded_value()), ";\n");
    } else {
      out += text(indent(level), sum, before, ";\n");
      for (std::int64_t step = 0; step < steps; ++step) {
        moved_ = {level - 2, step};
        out += text(indent(level), "{\n", loads_and_steps(level + 1), indent(level + 1),
                    "sum = ", combined("sum", folded_value()), ";\n", indent(level), "}\n");
      }
      moved_ = {-1, 0};
    }
    return out + assignment(0, narrowed("sum"), level) + ends(0, level);
  }

  std::string tiles() {
    const TileText print{.place = [&](const Counts& strides, std::int64_t offset) { return place(strides, offset); },
                         .loaded =
                             [&](int operand, const std::string& element) {
                               const Operand& in = loop_.value.in[static_cast<std::size_t>(operand)];
                               return expr::loaded(printer_, element, program_[in.access.buffer].dtype);
                             },
                         .is_half =
                             [&](int operand) {
                               const Operand& in = loop_.value.in[static_cast<std::size_t>(operand)];
                               return program_[in.access.buffer].dtype == DType::F16;
                             }};
    return printed_tiles(loop_, *tiling(program_, loop_), print);
  }

  std::string folds() {
    const int level = depth(), kept = loop_.kept;
    const expr::Combiner& combiner = expr::combiner(loop_.fn);
    const std::string all[] = {"sum", literal(printer_, Scalar(loop_.divisor), loop_.accumulator)};
    std::string out = heads(0, kept);
    out += text(indent(kept), type(loop_.accumulator),
                " sum = ", printer_.expression(combiner.identity, loop_.accumulator, {}), ";\n");
    out += heads(kept, level) + loads_and_steps(level);
    const std::string before = assignment(0, narrowed("sum"), level);
    if (loop_.mode == Mode::Scan && loop_.exclusive) out += before;
    out += text(indent(level), "sum = ", combined("sum", folded_value()), ";\n");
    if (loop_.mode == Mode::Scan && !loop_.exclusive) out += before;
    out += ends(kept, level);
    if (loop_.mode == Mode::Fold)
      out += assignment(0, narrowed(printer_.expression(combiner.finish, loop_.accumulator, all)), kept);
    return out + ends(0, kept);
  }

  std::string extremes() {
    const int level = depth(), kept = loop_.kept;
    const std::string start = printer_.expression(
        expr::combiner(loop_.extreme == op::ArgFn::ArgMax ? op::ReduceFn::Max : op::ReduceFn::Min).identity,
        loop_.accumulator, {});
    const std::string names[] = {"best", "where", "candidate", "at"};
    std::string out = heads(0, kept);
    out += text(indent(kept), type(loop_.accumulator), " best = ", start, ";\n", indent(kept),
                "unsigned int where = 0;\n", indent(kept), "bool found = false;\n");
    out += heads(kept, level) + loads_and_steps(level);
    out += text(indent(level), "const ", type(loop_.accumulator), " candidate = ", folded_value(), ";\n", indent(level),
                "const unsigned int at = (unsigned int)(", place(loop_.index.strides, loop_.index.offset), ");\n",
                indent(level), "if (!found || ",
                printer_.expression(expr::replaces(loop_.extreme), loop_.accumulator, names), ") {\n",
                indent(level + 1), "best = candidate;\n", indent(level + 1), "where = at;\n", indent(level + 1),
                "found = true;\n", indent(level), "}\n");
    out += ends(kept, level);
    if (loop_.out[0].buffer >= 0) out += assignment(0, "best", kept);
    if (loop_.out.size() > 1 && loop_.out[1].buffer >= 0) out += assignment(1, "(long long)where", kept);
    return out + ends(0, kept);
  }

  const Program& program_;
  const Loop loop_;
  expr::Printer& printer_;
  op::Program types_;
  bool may_fail_ = false;
  std::map<int, std::int64_t> stride_of_;      // by how much a dimension's index grows, where it is not 1
  std::pair<int, std::int64_t> moved_{-1, 0};  // a dimension, and how many steps after its index a place is
};

}  // namespace

std::string memory_type(DType dtype) {
  std::string name = text("kiln_memory_", expr::stored_type(expr::kC, dtype));
  std::ranges::replace(name, ' ', '_');
  return name;
}

LoopText printed(const Program& program, const Loop& loop, expr::Printer& printer) {
  return LoopPrinter(program, loop, printer).print();
}

}  // namespace kiln::compile

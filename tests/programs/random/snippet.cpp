// A program as C++ text.
#include <cstdio>
#include <regex>

#include "tests/programs/random/program.hpp"

namespace kiln::programs {
namespace {

std::string digits(double number) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.17g", number);
  return buffer;
}

std::string braces(const Dims& list) {
  std::string out = text(list);
  out.front() = '{';
  out.back() = '}';
  return out;
}

std::string numbers(const std::vector<Dual>& list, double Dual::* which) {
  std::string out = "{";
  for (std::size_t i = 0; i < list.size(); ++i) out += (i ? ", " : "") + digits(list[i].*which);
  return out + "}";
}

std::string ranges(const std::vector<Range>& list) {
  std::string out = "std::array{";
  for (std::size_t i = 0; i < list.size(); ++i)
    out += text(i ? ", " : "", "Range{", list[i].from ? text(*list[i].from) : "{}", ", {}, ", list[i].step, "}");
  return out + "}";
}

std::string attribute(const Attributes& s, const std::string& name) {
  if (name == "dim") return text(s.dim);
  if (name == "other") return text(s.other);
  if (name == "a") return text(s.a);
  if (name == "b") return text(s.b);
  if (name == "low") return digits(s.low);
  if (name == "high") return digits(s.high);
  if (name == "flag") return text(s.flag);
  if (name == "dims") return "Dims" + braces(s.dims);
  if (name == "more") return "Dims" + braces(s.more);
  return ranges(s.ranges);
}

/// The code of a line with its operands' and attributes' names filled in.
std::string filled_in(const Line& line) {
  static const std::regex name(R"(\bs\.(\w+)\b|\b[xyz]\b)");
  const std::string& code = line.instruction->code;
  std::string out;
  std::size_t at = 0;
  for (std::sregex_iterator found(code.begin(), code.end(), name), none; found != none; ++found) {
    const auto begin = static_cast<std::size_t>(found->position());
    out += code.substr(at, begin - at);
    if ((*found)[1].matched) out += attribute(line.attributes, (*found)[1]);
    else out += text("v", line.in[static_cast<std::size_t>(code[begin] - 'x')]);
    at = begin + static_cast<std::size_t>(found->length());
  }
  return out + code.substr(at);
}

}  // namespace

std::string snippet(const Program& program) {
  const std::vector<Grid> values = interpret(program);
  std::string out = "#include <array>\n#include \"kiln/kiln.hpp\"\n";
  for (const char* header :
       {"norm/normalization", "reduce/scan", "sequence/attention", "signal/signal", "view/diagonal"})
    out += text("#include \"kiln/ops/", header, ".hpp\"\n");
  out +=
      "using namespace kiln;\n\nint main() {\n"
      "  const Device device = Device::cpu().autodiff();\n"
      "  const auto numbers = [&](const Shape& shape, DType dtype, const std::vector<double>& values) {\n"
      "    const Value x = from_data(TensorData::of<double>(shape, values).to(dtype), device);\n"
      "    return dtype == DType::F64 ? x.require_grad() : x;\n"
      "  };\n";
  for (std::size_t i = 0; i < program.size(); ++i) {
    const Line& line = program[i];
    if (line.instruction) {
      out += text("  const Value v", i, " = ", filled_in(line), ";\n");
    } else {
      const char* dtype = line.leaf.type == Type::Real ? "F64" : line.leaf.type == Type::Index ? "I64" : "Bool";
      out += text("  const Value v", i, " = numbers(", braces(line.leaf.shape), ", DType::", dtype, ", ",
                  numbers(line.leaf.x, &Dual::v), ");\n");
    }
  }
  const std::size_t last = program.size() - 1;
  out += text("  print(\"v", last, ": {}\\n\", v", last, ");\n  // expected ", numbers(values[last].x, &Dual::v), "\n");
  if (values[last].type == Type::Real) {
    out += text("  const Gradients gradients = backward(sum(v", last, "));\n");
    for (std::size_t i = 0; i < program.size(); ++i)
      if (!program[i].instruction && program[i].leaf.type == Type::Real)
        out += text("  print(\"gradient of v", i, ": {}\\n\", gradients.of(v", i, "));\n  // along ",
                    numbers(program[i].leaf.x, &Dual::d), "\n");
    out += "  // v" + text(last) + " changes by " + numbers(values[last].x, &Dual::d) + "\n";
  }
  return out + "}\n";
}

}  // namespace kiln::programs

#include "kiln/backend/capture/graphviz.hpp"

#include "kiln/backend/capture/body.hpp"

namespace kiln {
namespace {

/// Quotes a label; a newline is written as a backslash and n.
std::string quoted(std::string_view label) {
  std::string out = "\"";
  for (const char letter : label) {
    if (letter == '\n') {
      out += "\\n";
      continue;
    }
    if (letter == '"' || letter == '\\') out += '\\';
    out += letter;
  }
  return out + '"';
}

class Drawing {
 public:
  explicit Drawing(const GraphBody& body) : body_(body) {}

  std::string draw(const GraphvizOptions& options) && {
    for (const Desc& desc : body_.inputs) value(text("input ", sources_.size()), desc);
    for (std::size_t i = 0; i < body_.constants.size(); ++i) {
      const bool named = i < options.constants.size() && !options.constants[i].empty();
      value(named ? options.constants[i] : "constant", {body_.constants[i].shape(), body_.constants[i].dtype()});
    }
    for (const GraphStep& each : body_.steps) step(each);
    for (std::size_t i = 0; i < body_.outputs.size(); ++i) {
      const std::string node = text("output", i);
      line(node, text("output ", i), "ellipse");
      arrow(body_.outputs[i], node);
    }
    return "digraph program {\n" + std::move(out_) + "}\n";
  }

 private:
  struct Source {
    std::string node, result;  // result: which of several results
  };

  void line(const std::string& node, std::string_view label, std::string_view shape) {
    out_ += text("  ", node, " [label=", quoted(label), ", shape=", shape, "];\n");
  }
  void value(std::string_view label, const Desc& desc) {
    const std::string node = text("value", sources_.size());
    line(node, text(label, '\n', desc.dtype, ' ', desc.shape), "ellipse");
    sources_.push_back({node, ""});
  }
  void step(const GraphStep& step) {
    const std::string node = text("step", steps_++);
    std::string label = function_name(step);
    for (const auto& operand : step.in)
      if (operand.id == GraphOperand::kNumber) label += text(' ', operand.number);
    if (const std::string attributes = op::attributes(step.op); !attributes.empty()) label += text('\n', attributes);
    for (int i = 0; i < step.results.size(); ++i) {
      const Desc& desc = step.results[i];
      label += text('\n', desc.dtype, ' ', desc.shape);
      sources_.push_back({node, step.results.size() > 1 ? text(i) : std::string()});
    }
    line(node, label, "box");
    for (const auto& operand : step.in) arrow(operand, node);
  }
  void arrow(const GraphOperand& operand, std::string_view to) {
    if (operand.id < 0) return;
    const Source& from = sources_[static_cast<std::size_t>(operand.id)];
    out_ += text("  ", from.node, " -> ", to);
    if (!from.result.empty()) out_ += text(" [label=", quoted(from.result), ']');
    out_ += ";\n";
  }

  const GraphBody& body_;
  std::string out_;
  std::vector<Source> sources_;  // indexed by the values' numbers
  int steps_ = 0;
};

}  // namespace

std::string graphviz(const Graph& graph, const GraphvizOptions& options) { return Drawing(graph.body()).draw(options); }

}  // namespace kiln

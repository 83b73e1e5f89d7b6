#include "kiln/onnx/save/writing.hpp"

#include <algorithm>

#include "kiln/core/error/shown.hpp"

namespace kiln::onnx {
AttributeProto attribute(std::string_view name, PlainAttribute value) {
  AttributeProto made(std::move(value));
  made.name = name;
  return made;
}
AttributeProto attribute(std::string_view name, TensorProto value) {
  AttributeProto made = attribute(name, PlainAttribute(AttributeProto::Type::Tensor));
  made.tensors.push_back(std::move(value));
  return made;
}

Writing::Writing(std::vector<Program> captures, const Symbols& symbols, const SaveOptions& options)
    : captures_(std::move(captures)), symbols_(symbols), options_(options) {
  check_same_structure();
  const Program& program = this->program();
  for (std::size_t i = 0; i < program.inputs.size(); ++i) {
    const std::string usual = i ? text("input_", i) : "input";
    std::string name = i < options.inputs.size() ? options.inputs[i] : usual;
    require<ArgumentError>(!name.empty() && taken_.insert(name).second, "onnx::save: the name '", shown(name),
                           "' of input ", i, name.empty() ? " is empty" : " occurs twice");
    names_[static_cast<std::int32_t>(i)] = name;
    graph_.input.push_back(info_of({.id = static_cast<std::int32_t>(i)}, name));
  }
  for (const std::string& name : options.outputs) taken_.insert(name);
  if (!options.model) return;
  nn::walk(*options.model, [&](const std::string& path, const nn::AnyLeaf& leaf) {
    if (leaf.empty() || !(leaf.is_param() || leaf.is_buffer())) return;
    leaf.value().device().sync();
    if (const Storage* memory = leaf.value().node()->storage.get()) parameters_.emplace(memory, path);
  });
}

void Writing::check_same_structure() const {
  for (const Program& other : captures_) {
    bool same = other.lines.size() == program().lines.size() && other.outputs.size() == program().outputs.size();
    for (std::size_t i = 0; same && i < other.lines.size(); ++i) {
      const Program::Line &a = program().lines[i], &b = other.lines[i];
      same = a.op.is.index() == b.op.is.index() && a.in.size() == b.in.size() && a.first == b.first;
      for (std::size_t k = 0; same && k < a.in.size(); ++k) same = a.in[k].id == b.in[k].id;
    }
    require<ArgumentError>(same,
                           "onnx::save: with other sizes of the free dimensions the function runs other "
                           "operations; leave them fixed");
  }
}

// ---- names --------------------------------------------------------------------------------------------------------
std::string Writing::fresh(const std::string& wanted) {
  std::string name = wanted;
  for (int i = 1; !taken_.insert(name).second; ++i) name = text(wanted, "_", i);
  return name;
}

std::string Writing::scope_of(const Strings& inputs) const {
  for (const std::string& input : inputs)
    if (const auto found = scopes_.find(input); found != scopes_.end()) return found->second;
  return "/";
}

Strings Writing::node(std::string_view op, Strings inputs, NamedAttributes attributes, int results) {
  while (!inputs.empty() && inputs.back().empty()) inputs.pop_back();
  NodeProto node;
  node.op_type = op;
  node.name = fresh(scope_of(inputs) + std::string(op));
  for (int i = 0; i < results; ++i) node.output.push_back(i ? text(node.name, ".", i) : node.name);
  for (const std::string& output : node.output) taken_.insert(output);
  node.input = std::move(inputs);
  node.attribute = std::move(attributes);
  graph_.node.push_back(std::move(node));
  return graph_.node.back().output;
}

const std::string& Writing::name_of(std::int32_t value) {
  const auto known = names_.find(value);
  if (known != names_.end()) return known->second;
  if (program().constants.count(value)) return names_[value] = add_constant(value);
  const auto line = program().lines_of.find(value);
  if (line != program().lines_of.end())
    complain(line->second, text("result ", value - program().lines[line->second].first, " of it is read"));
  return names_[value] = "?";
}

// ---- the end ------------------------------------------------------------------------------------------------------
void Writing::complain(std::size_t line, std::string reason) {
  const op::Op& op = program().lines[line].op;
  const auto* custom = std::get_if<op::Custom>(&op.is);
  complain(custom ? custom->op->name() : std::string(op::function_name(op)), std::move(reason));
}

ValueInfoProto Writing::info_of(const Program::LineOperand& operand, std::string name) {
  const Desc& desc = program().desc(operand);
  ValueInfoProto info;
  info.name = std::move(name);
  info.type.kind = TypeProto::Kind::Tensor;
  info.type.element = element_of(desc.dtype);
  info.type.shape.emplace();
  for (int d = 0; d < desc.shape.size(); ++d) {
    const Size size = dim_of(operand.id, d);
    DimProto dim;
    if (size.is_fixed()) dim.value = size.offset;
    else if (size.symbol() >= 0) dim.param = symbols_.names()[static_cast<std::size_t>(size.symbol())];
    info.type.shape->push_back(std::move(dim));
  }
  return info;
}

// Outputs get the names that were asked for: what makes them is renamed, unless it has a name for others already.
void Writing::name_outputs() {
  std::set<std::string> made;
  for (const NodeProto& node : graph_.node) made.insert(node.output.begin(), node.output.end());
  std::map<std::string, std::string> renamed;
  std::set<std::string> outputs;
  for (const ValueInfoProto& input : graph_.input) outputs.insert(input.name);
  for (std::size_t i = 0; i < program().outputs.size(); ++i) {
    const bool named = i < options_.outputs.size();
    const std::string wanted = named ? options_.outputs[i] : fresh(i ? text("output_", i) : "output");
    require<ArgumentError>(!wanted.empty() && outputs.insert(wanted).second, "onnx::save: the name '", shown(wanted),
                           "' of output ", i, wanted.empty() ? " is empty" : " occurs twice");
    const std::string inner = name_of(program().outputs[i].id);
    if (made.count(inner) && !renamed.count(inner)) {
      renamed[inner] = wanted;
    } else {
      NodeProto same;
      same.op_type = "Identity";
      same.name = fresh("/Identity");
      same.input = {inner};
      same.output = {wanted};
      graph_.node.push_back(std::move(same));
    }
    graph_.output.push_back(info_of(program().outputs[i], wanted));
  }
  for (NodeProto& node : graph_.node)
    for (Strings* list : {&node.input, &node.output})
      for (std::string& name : *list)
        if (const auto found = renamed.find(name); found != renamed.end()) name = found->second;
}

void Writing::remove_unread() {
  std::set<std::string> read;
  for (const ValueInfoProto& output : graph_.output) read.insert(output.name);
  std::vector<NodeProto> kept;
  for (std::size_t n = graph_.node.size(); n-- > 0;) {
    NodeProto& node = graph_.node[n];
    const bool wanted =
        std::any_of(node.output.begin(), node.output.end(), [&](const auto& name) { return read.count(name) != 0; });
    if (!wanted) continue;
    for (std::string& output : node.output)
      if (!read.count(output)) output.clear();
    while (node.output.back().empty()) node.output.pop_back();
    read.insert(node.input.begin(), node.input.end());
    kept.push_back(std::move(node));
  }
  std::reverse(kept.begin(), kept.end());
  graph_.node = std::move(kept);
  std::erase_if(graph_.initializer, [&](const TensorProto& tensor) { return !read.count(tensor.name); });
}

ModelProto Writing::finish() {
  if (complaints_.empty()) name_outputs();
  if (!complaints_.empty()) {
    std::string list;
    for (const auto& [op, reasons] : complaints_)
      for (const std::string& reason : reasons)
        list += text(list.empty() ? "" : "; ", op, reason.empty() ? "" : ": ", reason);
    fail<ArgumentError>("onnx::save: these operations have no equivalent in ONNX: ", list,
                        complaints_.contains("dropout") ? "; save valid(model), which drops nothing" : "");
  }
  remove_unread();
  ModelProto model;
  model.ir_version = options_.opset >= 25 ? 12 : options_.opset >= 24 ? 11 : options_.opset >= 21 ? 10 : 8;
  model.producer_name = "kiln";
  model.opset_import = {{"", options_.opset}};
  graph_.name = "main";
  model.graph = graph_;
  return model;
}

// ---- what rows share ----------------------------------------------------------------------------------------------
std::string WriterStep::in(int i, DType dtype) const {
  const Program::LineOperand& from = operand(i);
  return from.id == Program::LineOperand::kNumber ? out.number(from.number, dtype) : out.name_of(from.id);
}
std::vector<Size> WriterStep::sizes_of(int i) const {
  std::vector<Size> list;
  for (int d = 0; d < rank(i); ++d) list.push_back(out.dim_of(operand(i).id, d));
  return list;
}
std::vector<Size> WriterStep::result_sizes(int i) const {
  std::vector<Size> list;
  for (int d = 0; d < result_desc(i).shape.size(); ++d) list.push_back(out.dim_of(line.first + i, d));
  return list;
}

std::string transposed(Writing& out, std::string x, const Dims& order) {
  return out.one("Transpose", {std::move(x)}, {attribute("perm", Ints(order.begin(), order.end()))});
}

std::string reshaped(Writing& out, const std::string& x, const std::vector<Size>& from, const std::vector<Size>& to) {
  Ints sizes;
  int open = 0;
  for (std::size_t d = 0; d < to.size(); ++d) {
    const bool copied = !to[d].is_fixed() && d < from.size() && from[d] == to[d];
    const bool unknown = !to[d].is_fixed() && !copied;
    open += unknown;
    sizes.push_back(unknown ? -1 : copied ? 0 : to[d].offset);
  }
  const bool empty = std::any_of(to.begin(), to.end(), [](const Size& s) { return s.is_fixed() && s.offset == 0; });
  if (empty) return out.one("Reshape", {x, out.sizes(to)}, {attribute("allowzero", 1)});
  return out.one("Reshape", {x, open <= 1 ? out.ints(sizes) : out.sizes(to)});
}

std::string cast_name(Writing& out, const std::string& x, DType from, DType to) {
  if (from == to) return x;
  return out.one("Cast", {x}, {attribute("to", static_cast<std::int64_t>(element_of(to)))});
}

}  // namespace kiln::onnx

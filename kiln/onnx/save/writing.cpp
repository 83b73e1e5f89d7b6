#include "kiln/onnx/save/writing.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include "kiln/core/error/shown.hpp"

namespace kiln::onnx {
namespace {

AttributeProto attribute_of(std::string_view name, AttributeProto::Type type) {
  AttributeProto made;
  made.name = name;
  made.type = type;
  return made;
}

bool is_uniform(const TensorData& data) {
  const std::size_t size = size_of(data.dtype());
  const auto bytes = data.bytes();
  for (std::size_t i = size; i < bytes.size(); ++i)
    if (bytes[i] != bytes[i - size]) return false;
  return true;
}

/// The dimensions from those whose elements lie farthest apart in memory to those that lie side by side; empty where
/// that is the order of the shape, or not known.
Dims order_of(const Value& x) {
  const kiln::Node& node = *x.node();
  const int rank = x.rank();
  if (node.strides.size() != rank) return {};
  Dims order;
  for (int d = 0; d < rank; ++d) order.push_back(d);
  const auto apart = [&](std::int64_t dim) { return std::abs(node.strides[static_cast<int>(dim)]); };
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return apart(a) > apart(b); });
  return std::is_sorted(order.begin(), order.end()) ? Dims{} : order;
}

}  // namespace

AttributeProto attribute(std::string_view name, std::int64_t value) {
  AttributeProto made = attribute_of(name, AttributeProto::Type::Int);
  made.i = value;
  return made;
}
AttributeProto attribute(std::string_view name, double value) {
  AttributeProto made = attribute_of(name, AttributeProto::Type::Float);
  made.f = static_cast<float>(value);
  return made;
}
AttributeProto attribute(std::string_view name, std::string_view value) {
  AttributeProto made = attribute_of(name, AttributeProto::Type::String);
  made.s = value;
  return made;
}
AttributeProto attribute(std::string_view name, const Ints& values) {
  AttributeProto made = attribute_of(name, AttributeProto::Type::Ints);
  made.ints = values;
  return made;
}
AttributeProto attribute(std::string_view name, const Strings& values) {
  AttributeProto made = attribute_of(name, AttributeProto::Type::Strings);
  made.strings = values;
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
                           "' of input ", i, name.empty() ? " is empty" : " is there twice");
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
                           "onnx::save: with other sizes of the free dimensions the function does other "
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

Strings Writing::node(std::string_view op, Strings inputs, Attributes attributes, int results) {
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

// ---- constants ----------------------------------------------------------------------------------------------------
std::string Writing::add_initializer(TensorData data, std::string name) {
  TensorProto tensor;
  tensor.name = fresh(name);
  tensor.element = element_of(data.dtype());
  tensor.dims.assign(data.shape().begin(), data.shape().end());
  data_.push_back(std::move(data));
  tensor.raw_data = std::as_const(data_.back()).bytes();
  graph_.initializer.push_back(std::move(tensor));
  return graph_.initializer.back().name;
}

std::string Writing::constant(TensorData data, std::string_view name) {
  std::string key = text(kiln::name(data.dtype()), data.shape(), ":");
  key.append(reinterpret_cast<const char*>(data.bytes().data()), data.bytes().size());
  const auto [entry, is_new] = shared_.try_emplace(std::move(key));
  if (is_new) entry->second = add_initializer(std::move(data), std::string(name));
  return entry->second;
}

std::string Writing::number(const Scalar& number, DType dtype) {
  TensorData data({}, DType::F64);
  if (is_float(dtype)) {
    data = TensorData::of<double>({}, {number.to<double>()}).to(dtype);
  } else {
    data = TensorData::of<std::int64_t>({}, {number.to<std::int64_t>()}).to(dtype);
  }
  return constant(std::move(data), text("number_", number));
}

std::string Writing::ints(const Ints& list) {
  return constant(TensorData::of<std::int64_t>({static_cast<std::int64_t>(list.size())}, std::span(list)), "sizes");
}

// A tensor that the program closed over. One that has other sizes in other captures is made anew: filled with its
// number, or counted from 0.
std::string Writing::add_constant(std::int32_t id) {
  const Value& value = program().constants.at(id);
  std::vector<Size> shape;
  bool fixed = true;
  for (int d = 0; d < value.rank(); ++d) shape.push_back(dim_of(id, d)), fixed = fixed && shape.back().is_fixed();
  const TensorData data = value.data();
  const auto path = parameters_.find(value.node()->storage.get());
  const bool is_parameter = path != parameters_.end();
  if (!fixed || (!is_parameter && data.numel() >= 64 && is_uniform(data))) {
    const auto same_in_all = [&](auto&& holds) {
      return std::all_of(captures_.begin(), captures_.end(), [&](const Program& p) {
        const TensorData other = p.constants.at(id).data();
        return holds(other) && (other.numel() == 0 || data.numel() == 0 || other.at(0) == data.at(0));
      });
    };
    if (data.numel() > 0 && same_in_all(is_uniform)) {
      AttributeProto fill = attribute_of("value", AttributeProto::Type::Tensor);
      TensorProto tensor;
      tensor.element = element_of(data.dtype());
      tensor.dims = {1};
      data_.emplace_back(Shape{1}, data.dtype(),
                         std::vector<std::byte>(data.bytes().begin(), data.bytes().begin() + size_of(data.dtype())));
      tensor.raw_data = std::as_const(data_.back()).bytes();
      fill.tensors.push_back(tensor);
      return one("ConstantOfShape", {sizes(shape)}, {fill});
    }
    const auto counts = [](const TensorData& other) {
      for (std::int64_t i = 0; i < other.numel(); ++i)
        if (other.at(i) != static_cast<double>(i)) return false;
      return other.shape().size() == 1;
    };
    if (data.numel() > 1 && same_in_all(counts)) {
      const std::string range = one("Range", {number(0, DType::I64), scalar(shape[0]), number(1, DType::I64)});
      return cast_name(*this, range, DType::I64, data.dtype());
    }
    complain("constant", text("a tensor that the function closes over, ", value,
                              ", has other sizes where free dimensions do; make it of the function's inputs"));
    return "?";
  }
  for (const Program& other : captures_) {  // the same numbers, whatever the sizes
    const Value& theirs = other.constants.at(id);
    if (theirs.node() == value.node()) continue;
    const TensorData mine = theirs.data();
    if (!std::equal(mine.bytes().begin(), mine.bytes().end(), data.bytes().begin(), data.bytes().end()))
      complain("constant", text("a tensor that the function closes over, ", value,
                                ", has other elements where free dimensions have other sizes"));
  }
  const Dims order = order_of(value);
  Dims inverse = order;
  for (int i = 0; i < order.size(); ++i) inverse[static_cast<int>(order[i])] = i;
  std::string name = is_parameter ? path->second : "constant";
  const std::string place = is_parameter ? text(name, value.node()->offset, value.shape(), value.node()->strides) : "";
  if (const auto found = shared_.find(place); is_parameter && found != shared_.end()) return found->second;
  TensorData stored = order.empty() ? data : permute(value, order).data();
  std::string made = is_parameter ? add_initializer(std::move(stored), name) : constant(std::move(stored), name);
  if (is_parameter) {
    const std::size_t dot = name.rfind('.');
    std::string scope = dot == std::string::npos ? "/" : text("/", name.substr(0, dot), "/");
    std::replace(scope.begin(), scope.end(), '.', '/');
    scopes_[made] = scope;
    if (!order.empty()) {
      const std::string turned = transposed(*this, made, inverse);
      scopes_[turned] = scope;
      made = turned;
    }
    shared_[place] = made;
  } else if (!order.empty()) {
    made = transposed(*this, made, inverse);
  }
  return made;
}

// ---- sizes --------------------------------------------------------------------------------------------------------
Size Writing::size(std::size_t line, FunctionRef<std::int64_t(const Program&, const Program::Line&)> read) {
  std::vector<std::int64_t> values;
  for (const Program& capture : captures_) values.push_back(read(capture, capture.lines[line]));
  if (const std::optional<Size> found = symbols_.fit(values)) return *found;
  complain(line, text("a size of it is ", values[0], " and ", values.back(),
                      ", no multiple of the free dimensions and an offset"));
  return {values[0], 0, 0, values[0]};
}

Size Writing::dim_of(std::int32_t value, int dim) {
  std::vector<std::int64_t> values;
  for (const Program& capture : captures_) values.push_back(capture.descs.at(value).shape[dim]);
  if (const std::optional<Size> found = symbols_.fit(values)) return *found;
  return {values[0], 0, ~0u, values[0]};  // some other function: nobody may ask for it as a number
}

std::string Writing::symbol(int number) {
  std::string& name = symbol_names_[number];
  if (!name.empty()) return name;
  for (const FreeDim& dim : symbols_.dims())
    if (symbols_.number_of(dim.name) == number) {
      name = one("Shape", {name_of(static_cast<std::int32_t>(dim.input))},
                 {attribute("start", std::int64_t{dim.dim}), attribute("end", std::int64_t{dim.dim + 1})});
      break;
    }
  return name;
}

std::string Writing::sizes(const std::vector<Size>& list) {
  Strings parts;
  Ints known;
  const auto flush = [&] {
    if (!known.empty()) parts.push_back(ints(known));
    known.clear();
  };
  for (const Size& size : list) {
    if (size.is_fixed()) {
      known.push_back(size.offset);
      continue;
    }
    flush();
    if (size.symbols == ~0u)
      complain("shape", "a size depends on free dimensions otherwise than as a multiple and an offset");
    std::string product;
    for (std::size_t k = 0; k < symbols_.names().size(); ++k) {
      if (!(size.symbols >> k & 1u)) continue;
      const std::string next = symbol(static_cast<int>(k));
      product = product.empty() ? next : one("Mul", {product, next});
    }
    if (size.factor != 1) product = one("Mul", {product, ints({size.factor})});
    if (size.offset != 0) product = one("Add", {product, ints({size.offset})});
    parts.push_back(product);
  }
  flush();
  if (parts.empty()) return ints({});
  return parts.size() == 1 ? parts[0] : one("Concat", parts, {attribute("axis", std::int64_t{0})});
}

std::string Writing::scalar(const Size& size) {
  if (size.is_fixed()) return number(size.offset, DType::I64);
  return one("Squeeze", {sizes({size}), ints({0})});
}

// ---- the end ------------------------------------------------------------------------------------------------------
void Writing::complain(std::size_t line, std::string reason) {
  const op::Op& op = program().lines[line].op;
  const auto* custom = std::get_if<op::Custom>(&op.is);
  complain(custom ? custom->op->name() : std::string(op::spoken_name(op)), std::move(reason));
}

ValueInfoProto Writing::info_of(const Program::Operand& operand, std::string name) {
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
  for (std::size_t i = 0; i < program().outputs.size(); ++i) {
    const bool named = i < options_.outputs.size();
    const std::string wanted = named ? options_.outputs[i] : fresh(i ? text("output_", i) : "output");
    require<ArgumentError>(!wanted.empty() && outputs.insert(wanted).second, "onnx::save: the name '", shown(wanted),
                           "' of output ", i, wanted.empty() ? " is empty" : " is there twice");
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
    fail<ArgumentError>("onnx::save: these operations have no form in ONNX: ", list);
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
std::string Step::in(int i, DType dtype) const {
  const Program::Operand& from = operand(i);
  return from.id == Program::Operand::kNumber ? out.number(from.number, dtype) : out.name_of(from.id);
}
std::vector<Size> Step::sizes_of(int i) const {
  std::vector<Size> list;
  for (int d = 0; d < rank(i); ++d) list.push_back(out.dim_of(operand(i).id, d));
  return list;
}
std::vector<Size> Step::result_sizes(int i) const {
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
  if (empty) return out.one("Reshape", {x, out.sizes(to)}, {attribute("allowzero", std::int64_t{1})});
  return out.one("Reshape", {x, open <= 1 ? out.ints(sizes) : out.sizes(to)});
}

std::string cast_name(Writing& out, const std::string& x, DType from, DType to) {
  if (from == to) return x;
  return out.one("Cast", {x}, {attribute("to", static_cast<std::int64_t>(element_of(to)))});
}

}  // namespace kiln::onnx

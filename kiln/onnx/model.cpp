#include "kiln/onnx/model.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include "kiln/core/error/memory_error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/core/error/suggest.hpp"
#include "kiln/onnx/passes/passes.hpp"

namespace kiln::onnx {
namespace {

Parameter parameter_of(const Value& value) {
  switch (value.rank()) {
    case 1: return nn::Param<1>(value);
    case 2: return nn::Param<2>(value);
    case 3: return nn::Param<3>(value);
    case 4: return nn::Param<4>(value);
    case 5: return nn::Param<5>(value);
    case 6: return nn::Param<6>(value);
    case 7: return nn::Param<7>(value);
    default: return nn::Param<8>(value);
  }
}
const Value& value_of(const Parameter& parameter) {
  return std::visit([](const auto& param) -> const Value& { return param.value(); }, parameter);
}

// Does an input fit its declared type? Sizes with names are noted, and must agree.
void check_input(const Datum& datum, const ValueInfo& info, const std::string& file,
                 std::map<std::string, std::pair<std::int64_t, std::string>>& sizes) {
  const std::string where = text(shown(file), ": input '", shown(info.name), "'");
  if (info.type.kind == TypeProto::Kind::Tensor) {
    require<DTypeError>(datum.is_tensor(), where, " is a tensor, not ", datum);
    require<DTypeError>(info.type.element == Element::Undefined || datum.element() == info.type.element, where,
                        " is of type ", name(info.type.element), ", not ", name(datum.element()));
    if (!info.type.shape) return;
    const Shape& shape = datum.value().shape();
    const std::vector<DimProto>& dims = *info.type.shape;
    require<ShapeError>(static_cast<int>(dims.size()) == shape.size(), where, " has ", dims.size(), " dimensions, not ",
                        shape.size(), ": ", shape);
    for (int d = 0; d < shape.size(); ++d) {
      const DimProto& dim = dims[static_cast<std::size_t>(d)];
      if (dim.value && *dim.value > 0)
        require<ShapeError>(*dim.value == shape[d], where, " has the size ", *dim.value, " in dimension ", d, ", not ",
                            shape[d], ": ", shape);
      if (dim.param.empty()) continue;
      const auto [known, fresh] = sizes.emplace(dim.param, std::pair(shape[d], info.name));
      require<ShapeError>(fresh || known->second.first == shape[d], where, " has the size ", shape[d], " in dimension ",
                          d, ", '", shown(dim.param), "', which input '", shown(known->second.second), "' has ",
                          known->second.first, " of");
    }
  } else if (info.type.kind == TypeProto::Kind::Sequence) {
    require<DTypeError>(datum.kind() == Datum::Kind::Sequence, where, " is a sequence, not ", datum);
  }
}

/// Running means and variances: they are learnt from batches, not by gradients, which would make variances negative.
std::set<int> statistics_of(const Graph& graph) {
  std::set<int> values;
  for (const Node& node : graph.nodes)
    if (node.row && node.domain.empty() && node.op == "BatchNormalization" && node.inputs.size() == 5)
      values.insert({node.inputs[3], node.inputs[4]});
  return values;
}

void choose_outputs(Graph& graph, const Strings& names, const std::string& file) {
  std::map<std::string_view, int> values;
  for (const int input : graph.inputs) values[graph[input].name] = input;
  for (const Node& node : graph.nodes)
    for (const int output : node.outputs)
      if (output != kAbsent) values[graph[output].name] = output;
  std::vector<std::string_view> known;
  for (const auto& [name, value] : values) known.push_back(name);
  graph.outputs.clear();
  for (const std::string& name : names) {
    const auto found = values.find(name);
    require<ArgumentError>(found != values.end(), shown(file), ": no node makes '", shown(name), "'",
                           did_you_mean(name, known));
    graph.outputs.push_back(found->second);
  }
  remove_unread(graph);
  find_last_uses(graph);
}

void free_first_dimensions(Graph& graph) {
  for (const int input : graph.inputs) {
    TypeProto& type = graph[input].type;
    if (type.kind == TypeProto::Kind::Tensor && type.shape && !type.shape->empty()) type.shape->front() = {{}, "batch"};
  }
}

}  // namespace

const Datum& Outputs::operator[](std::string_view name) const {
  for (std::size_t i = 0; i < names_.size(); ++i)
    if (names_[i] == name) return data_[i];
  const std::vector<std::string_view> known(names_.begin(), names_.end());
  fail<ArgumentError>("there is no output '", shown(name), "'", did_you_mean(name, known));
}

Model::Model(std::shared_ptr<const Graph> graph, const Device& device, std::string file, std::int64_t most_trips,
             std::function<bool()> stop) try
    : graph_(std::move(graph)),
      device_(device),
      file_(std::move(file)),
      most_trips_(most_trips),
      stop_(std::move(stop)),
      programs_(*graph_) {
  const std::set<int> statistics = statistics_of(*graph_);
  for (const auto& [number, constant] : graph_->constants) {
    if (statistics.count(number)) continue;
    if (!constant.is_tensor() || !is_float(constant.value().dtype()) || is_narrow(constant.element())) continue;
    if (constant.value().rank() < 1) continue;
    std::string name = (*graph_)[number].name;
    std::replace(name.begin(), name.end(), '.', '/');
    while (places_.count(name)) name += '\'';
    places_[name] = number;
    parameters_.emplace(name, parameter_of(to_device(constant.value(), device)));
  }
} catch (...) { rethrow_as_memory_error("an ONNX model"); }

std::vector<ValueInfo> Model::inputs() const {
  std::vector<ValueInfo> list;
  for (const int input : graph().inputs) list.push_back((*graph_)[input]);
  return list;
}
std::vector<ValueInfo> Model::outputs() const {
  std::vector<ValueInfo> list;
  for (const int output : graph().outputs) list.push_back((*graph_)[output]);
  return list;
}

Outputs Model::run(std::vector<Datum> inputs, const NamedInputs& others) const {
  std::map<std::string, std::pair<std::int64_t, std::string>> sizes;
  for (std::size_t i = 0; i < inputs.size(); ++i) check_input(inputs[i], (*graph_)[graph_->inputs[i]], file_, sizes);
  Values weights;
  for (const auto& [name, parameter] : parameters_) weights.push_back(value_of(parameter));
  std::map<int, Datum> given;
  for (const int value : graph_->replaceable) {
    const ValueInfo& info = (*graph_)[value];
    if (const auto other = others.find(info.name); other != others.end()) {
      check_input(other->second, info, file_, sizes);
      given[value] = other->second;
    }
  }
  std::vector<std::string> names;
  for (const ValueInfo& output : outputs()) names.push_back(output.name);
  const auto walk = [&](std::vector<Datum> all) {
    auto weight = weights.begin();
    for (const auto& [name, parameter] : parameters_) given.emplace(places_.at(name), Datum(*weight++));
    return run_graph(*graph_, std::move(all), nullptr, {device_, file_, most_trips_, nullptr, stop_}, &given);
  };
  const bool usual = given.empty();
  return {std::move(names), usual ? programs_.run(std::move(inputs), weights, device_, walk) : walk(std::move(inputs))};
}

const Graph& Model::graph() const {
  require<ArgumentError>(graph_ != nullptr, "this onnx::Model was not loaded: it holds no graph");
  return *graph_;
}

Outputs Model::run(std::vector<Datum> inputs) const try {
  require<ArgumentError>(inputs.size() == graph().inputs.size(), shown(file_), " takes ", graph_->inputs.size(),
                         " inputs, not ", inputs.size());
  return run(std::move(inputs), {});
} catch (...) { rethrow_as_memory_error(file_); }

Outputs Model::run(const NamedInputs& inputs) const try {
  std::vector<Datum> list;
  std::vector<std::string_view> known;
  for (const int input : graph().inputs) {
    const std::string& name = (*graph_)[input].name;
    known.push_back(name);
    const auto found = inputs.find(name);
    require<ArgumentError>(found != inputs.end(), shown(file_), ": input '", shown(name), "' is missing");
    list.push_back(found->second);
  }
  for (const int value : graph_->replaceable) known.push_back((*graph_)[value].name);
  for (const auto& [name, datum] : inputs)
    require<ArgumentError>(std::count(known.begin(), known.end(), name) != 0, shown(file_), " has no input '",
                           shown(name), "'", did_you_mean(name, known));
  return run(std::move(list), inputs);
} catch (...) { rethrow_as_memory_error(file_); }

namespace {

Model load(const FileBytes& source, const std::string& directory, const Device& device, const LoadOptions& options) {
  const std::string& file = source.name;
  const ModelProto model = parse_model(source.bytes, file);
  Graph graph = build(model, {.file = file, .directory = directory, .source = source}, device.inner());
  if (!options.outputs.empty()) choose_outputs(graph, options.outputs, file);
  if (options.free_batch) free_first_dimensions(graph);
  if (options.simplify) simplify(graph, {device.inner(), file});
  return {std::make_shared<Graph>(std::move(graph)), device, file, options.most_trips, options.stop};
}

}  // namespace

Model load(Bytes bytes, const std::string& file, const std::string& directory, const Device& device,
           const LoadOptions& options) try {
  return load(FileBytes{bytes, file, nullptr}, directory, device, options);
} catch (...) { rethrow_as_memory_error(file); }
Model load(const std::string& path, const Device& device, const LoadOptions& options) try {
  return load(map_file(path), std::filesystem::path(path).parent_path().string(), device, options);
} catch (...) { rethrow_as_memory_error(path); }

}  // namespace kiln::onnx

#include "examples/serve_model/served.hpp"

#include <cmath>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "kiln/backend/capture/batched.hpp"
#include "kiln/core/config/json.hpp"
#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/onnx/element.hpp"
#include "kiln/onnx/model.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/store/graph_file.hpp"

namespace serving {
namespace {

using namespace kiln;

std::string shape_text(const Shape& shape) {
  std::string all;
  for (const std::int64_t size : shape) all += text(all.empty() ? "" : ", ", size == kAny ? "any" : text(size));
  return all;
}

/// Returns why no examples can be sent as such a value; empty if they can, or the file does not say what it is.
std::string why_not_served(const onnx::TypeProto& type) {
  using Kind = onnx::TypeProto::Kind;
  if (type.kind == Kind::None) return "";
  if (type.kind != Kind::Tensor) return "no tensor";
  if (type.element == onnx::Element::String) return "of strings, which no request has";
  if (type.element != onnx::Element::Undefined && !onnx::is_known(type.element))
    return text("of ", onnx::name(type.element), ", of which Kiln has no tensors");
  if (type.shape && type.shape->empty()) return "a single number, without a dimension for the examples";
  return "";
}

std::string results_of(const onnx::ValueInfo& output) {
  if (output.type.kind != onnx::TypeProto::Kind::Tensor || output.type.element == onnx::Element::Undefined)
    return "a type that the file does not declare";
  const std::string dtype(name(onnx::dtype_of(output.type.element)));
  if (!output.type.shape || output.type.shape->empty()) return dtype;
  Shape shape;
  for (std::size_t i = 1; i < output.type.shape->size(); ++i)
    shape.push_back((*output.type.shape)[i].value.value_or(kAny));
  return text(dtype, " [", shape_text(shape), ']');
}

Served open_onnx(const std::string& file, const Device& device) {
  const auto model = std::make_shared<const onnx::Model>(onnx::load(file, device, {.free_batch = true}));
  const auto inputs = model->inputs(), outputs = model->outputs();
  require<LoadError>(
      inputs.size() == 1 && outputs.size() == 1, shown(file), ": has ", inputs.size(), " inputs and ", outputs.size(),
      " outputs: this server takes models of one tensor each (LoadOptions::outputs takes one of several)");
  const auto require_served = [&](const onnx::ValueInfo& value, std::string_view what) {
    const std::string why = why_not_served(value.type);
    require<LoadError>(why.empty(), shown(file), ": its ", what, " '", shown(value.name), "' is ", why,
                       ": this server takes models of one tensor of numbers each (LoadOptions::outputs takes another)");
  };
  require_served(inputs[0], "input");
  require_served(outputs[0], "output");
  const auto& shape = inputs[0].type.shape;
  require<LoadError>(shape && !shape->empty(), shown(file), ": does not say how many dimensions an example has");
  Served served{.run = [model, device](TensorData examples) {
    return model->run({onnx::Datum(from_data(std::move(examples), device))})[0].value().data();
  }};
  for (std::size_t i = 1; i < shape->size(); ++i) served.example.push_back((*shape)[i].value.value_or(kAny));
  served.dtype = onnx::dtype_of(inputs[0].type.element);
  served.results = results_of(outputs[0]);
  return served;
}

/// A graph whose input and output begin with a dimension of 1 was captured with a batch of one example.
bool has_batch_of_one(const Graph& graph) {
  const Shape in = graph.inputs()[0].shape, out = graph.outputs()[0].shape;
  return in.size() > 1 && in[0] == 1 && out.size() > 0 && out[0] == 1;
}

/// Examples without a graph's batch of one receive it, and their results lose it.
TensorData replayed(const Graph& graph, const TensorData& examples, const Device& device) {
  const bool lacks_batch = examples.shape().size() == graph.inputs()[0].shape.size();
  Shape shape = examples.shape();
  if (lacks_batch) shape.insert(1, 1);
  const Value in = from_data(examples.reshaped(shape), device);
  const TensorData out = batched_replay(graph, {&in, 1})[0].data();
  shape = out.shape();
  if (lacks_batch) shape.erase(1);
  return out.reshaped(shape);
}

Served open_graph(const std::string& file, const Device& device) {
  const auto graph = std::make_shared<const Graph>(load_graph(file, device));
  require<LoadError>(graph->inputs().size() == 1 && graph->outputs().size() == 1, shown(file), ": has ",
                     graph->inputs().size(), " inputs and ", graph->outputs().size(),
                     " outputs: this server takes graphs of one tensor each");
  Served served{.run = [graph, device](const TensorData& examples) { return replayed(*graph, examples, device); },
                .example = graph->inputs()[0].shape,
                .dtype = graph->inputs()[0].dtype};
  served.has_batch_of_one = has_batch_of_one(*graph);
  Shape results = graph->outputs()[0].shape;
  if (served.has_batch_of_one) {
    served.example.erase(0);
    results.erase(0);
  }
  served.results = text(name(graph->outputs()[0].dtype), " [", shape_text(results), ']');
  return served;
}

void require_example(Shape example, const Served& served) {
  if (served.has_batch_of_one && example.size() == served.example.size() + 1 && example[0] == 1) example.erase(0);
  bool fits = example.size() == served.example.size();
  for (int i = 0; fits && i < example.size(); ++i) fits = served.example[i] == kAny || served.example[i] == example[i];
  require<ShapeError>(fits, "serve_model: examples of the shape [", shape_text(example), "] are not the [",
                      shape_text(served.example), "] that the model takes");
}

double number(const Json& json) {
  if (const auto* const x = std::get_if<double>(&json.is)) return *x;
  if (const auto* const x = std::get_if<std::int64_t>(&json.is)) return static_cast<double>(*x);
  if (const auto* const x = std::get_if<std::uint64_t>(&json.is)) return static_cast<double>(*x);
  fail<ConfigError>("serve_model: ", describe(json), " stands where a number is expected");
}

/// Appends the numbers of nested lists. `shape` has the sizes that were seen, or is found by the first list of each
/// depth.
void flatten(const Json& json, int depth, std::vector<std::int64_t>& sizes, bool first, std::vector<double>& to) {
  const auto* const list = std::get_if<Json::List>(&json.is);
  const bool is_leaf = depth == static_cast<int>(sizes.size()) && (!first || !list);
  if (is_leaf) return to.push_back(number(json));
  require<ShapeError>(list != nullptr, "serve_model: ", describe(json),
                      " stands where a list is expected: lists of one depth have the same sizes");
  const auto size = static_cast<std::int64_t>(list->size());
  if (depth == static_cast<int>(sizes.size())) sizes.push_back(size);
  require<ShapeError>(sizes[static_cast<std::size_t>(depth)] == size, "serve_model: a list of ", size,
                      " stands where one of ", sizes[static_cast<std::size_t>(depth)],
                      " is expected: lists of one depth have the same sizes");
  Json room;
  for (std::size_t i = 0; i < list->size(); ++i) flatten(list->element(i, room), depth + 1, sizes, first && i == 0, to);
}

Json nested(const TensorData& data, int depth, std::int64_t& at) {
  if (depth == data.shape().size()) {
    const double x = data.at(at++);
    return std::isfinite(x) ? Json(x) : Json(nullptr);
  }
  Json::List list;
  for (std::int64_t i = 0; i < data.shape()[depth]; ++i) list.push_back(nested(data, depth + 1, at));
  return Json(std::move(list));
}

}  // namespace

Served open_model(const std::string& file, const Device& device) {
  require<IoError>(std::filesystem::exists(file), "there is no ", shown(file),
                   ": name an ONNX file or a graph that Kiln has saved by --model");
  Served served = file.ends_with(".onnx") ? open_onnx(file, device) : open_graph(file, device);
  served.description = text(file, ": examples of ", name(served.dtype), " [", shape_text(served.example),
                            "], results of ", served.results, '\n');
  return served;
}

TensorData from_json(std::string_view words, const Served& served) {
  const std::size_t first = words.find_first_not_of(" \t\r\n");
  require<ConfigError>(first != words.npos && (words[first] == '{' || words[first] == '['),
                       R"(serve_model: the request is no JSON: send {"inputs": [[...], ...]}, or the bytes of the )"
                       "elements with the header Content-Type: application/octet-stream");
  const Json json = parse_json(words, "the request");
  const auto* const object = std::get_if<Json::Object>(&json.is);
  require<ConfigError>(object && object->size() == 1 && (*object)[0].first == "inputs",
                       R"(serve_model: a request is {"inputs": [[...], ...]}, a list of examples)");
  std::vector<std::int64_t> sizes;
  std::vector<double> numbers;
  flatten((*object)[0].second, 0, sizes, true, numbers);
  require<ShapeError>(!sizes.empty() && sizes.size() <= 8, "serve_model: examples have 0 to 7 dimensions");
  require<ShapeError>(sizes[0] > 0, R"(serve_model: "inputs" has no examples)");
  const Shape shape(sizes.begin(), sizes.end());
  require_example(Shape(sizes.begin() + 1, sizes.end()), served);
  return TensorData::of<double>(shape, numbers).to(served.dtype);
}

std::string to_json(const TensorData& outputs) {
  std::int64_t at = 0;
  return write_json(Json(Json::Object{{"outputs", nested(outputs, 0, at)}}));
}

TensorData from_bytes(std::string_view bytes, const Served& served) {
  auto size = static_cast<std::int64_t>(size_of(served.dtype));
  for (const std::int64_t each : served.example) {
    require<ShapeError>(each != kAny, "serve_model: examples of [", shape_text(served.example),
                        "] have no size of their own: send JSON");
    size *= each;
  }
  const auto all = static_cast<std::int64_t>(bytes.size());
  require<ShapeError>(size > 0 && all > 0 && all % size == 0, "serve_model: ", all, " bytes are no examples of ", size,
                      " bytes each (", name(served.dtype), " [", shape_text(served.example), "])");
  Shape shape = served.example;
  shape.insert(0, all / size);
  const auto elements = std::as_bytes(std::span(bytes));
  return TensorData(shape, served.dtype, {elements.begin(), elements.end()});
}

}  // namespace serving

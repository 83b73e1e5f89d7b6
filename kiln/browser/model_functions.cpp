// The functions of JavaScript's Kiln.load and of models (packaging/npm/index.js).
#include <algorithm>
#include <array>

#include "kiln/browser/model.hpp"
#include "kiln/store/safetensors/safetensors.hpp"

namespace kiln::browser {
namespace {

struct LoadRequest {
  TensorData bytes;
  std::string name = "the model";
  std::optional<std::string> device = {};  // as Device::parse takes it
  bool free_batch = false;
};
struct Loaded {
  std::string kind;  // "onnx", "graph" or "tensors"
  std::optional<std::string> device = {};
  std::shared_ptr<Model> model = {};
  std::vector<Port> inputs = {}, outputs = {};
  std::map<std::string, Value> tensors = {};
  std::map<std::string, std::string> metadata = {};
};

Device device_of(const std::optional<std::string>& name) {
  return name ? device_named(*name).inner() : default_device();
}

Loaded described(std::string kind, const std::shared_ptr<Model>& model) {
  return {.kind = std::move(kind),
          .device = model->device().name(),
          .model = model,
          .inputs = model->inputs(),
          .outputs = model->outputs()};
}

Loaded load_tensors(const TensorFileView& view, const Device& device) {
  Loaded loaded{.kind = "tensors", .device = device.name(), .metadata = view.metadata};
  for (const auto& [name, tensor] : view.tensors) {
    TensorData data(tensor.shape, tensor.dtype);
    std::copy(tensor.bytes.begin(), tensor.bytes.end(), data.bytes().begin());
    loaded.tensors.emplace(name, from_data(std::move(data), device));
  }
  return loaded;
}

/// The content decides what it is, whatever the name says.
Loaded load(const LoadRequest& request) {
  const Device device = device_of(request.device);
  const auto bytes = request.bytes.bytes();
  require<DataError>(!bytes.empty(), request.name, ": the file is empty");
  if (!is_safetensors(bytes)) return described("onnx", load_onnx(bytes, request.name, device, request.free_batch));
  const TensorFileView view = view_safetensors(bytes, request.name);
  if (view.tensors.contains("program")) return described("graph", load_graph(bytes, request.name, device));
  return load_tensors(view, device);
}

/// Tensors as their elements, wherever they are in the item.
void read_all(Item& item) {
  if (const auto* const value = std::get_if<Value>(&item.is)) item = elements_of(*value);
  else if (auto* const list = std::get_if<Item::List>(&item.is)) std::ranges::for_each(*list, read_all);
  else if (auto* const record = std::get_if<Item::Record>(&item.is))
    for (auto& [name, field] : *record) read_all(field);
}

/// Runs the model. `arrays` asks for elements in place of handles, which saves a call.
Item run(const std::shared_ptr<Model>& model, const Item& inputs, std::optional<bool> arrays) {
  Item results = model->run(inputs);
  if (arrays.value_or(false)) read_all(results);
  return results;
}

constexpr std::array kFunctions{function<load>("kiln.load"), function<run>("kiln.run")};

}  // namespace

std::span<const Function> model_functions() { return kFunctions; }

}  // namespace kiln::browser

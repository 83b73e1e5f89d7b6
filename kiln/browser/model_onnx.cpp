#include "kiln/browser/convert.hpp"
#include "kiln/browser/model.hpp"
#include "kiln/onnx/model.hpp"
#include "kiln/ops/functions.hpp"

namespace kiln::browser {
namespace {

using onnx::Datum;

Port port_of(const onnx::ValueInfo& info) {
  Port port{.name = info.name, .dtype = ""};
  if (info.type.kind != onnx::TypeProto::Kind::Tensor) return port;
  const onnx::Element element = info.type.element;
  const bool is_own = onnx::is_known(element) && !onnx::is_narrow(element) && element != onnx::Element::String;
  if (element != onnx::Element::Undefined)
    port.dtype = is_own ? kiln::name(onnx::dtype_of(element)) : onnx::name(element);
  if (!info.type.shape) return port;
  port.shape.emplace();
  for (const onnx::DimProto& dim : *info.type.shape) {
    if (dim.value && *dim.value > 0) port.shape->emplace_back(static_cast<double>(*dim.value));
    else if (!dim.param.empty()) port.shape->emplace_back(dim.param);
    else port.shape->emplace_back();
  }
  return port;
}
std::vector<Port> ports_of(const std::vector<onnx::ValueInfo>& infos) {
  std::vector<Port> ports;
  for (const onnx::ValueInfo& info : infos) ports.push_back(port_of(info));
  return ports;
}

Item item_of(const Datum& datum) {
  switch (datum.kind()) {
    case Datum::Kind::Absent: return {};
    case Datum::Kind::Tensor: return datum.is_string() ? to_item(datum.strings()) : Item(datum.value());
    case Datum::Kind::Optional: return datum.held() ? item_of(*datum.held()) : Item();
    case Datum::Kind::Sequence: {
      Item::List list;
      for (const Datum& each : datum.items()) list.push_back(item_of(each));
      return list;
    }
    case Datum::Kind::Map: {
      Item::Record record;
      for (const auto& [key, value] : datum.entries()) {
        const auto* const word = std::get_if<std::string>(&key);
        record.emplace_back(word ? *word : text(*std::get_if<std::int64_t>(&key)), item_of(value));
      }
      return record;
    }
  }
  return {};
}

class OnnxModel final : public Model {
 public:
  OnnxModel(onnx::Model model, std::string name)
      : model_(std::move(model)), name_(std::move(name)), inputs_(ports_of(model_.inputs())) {}

  std::vector<Port> inputs() const override { return inputs_; }
  std::vector<Port> outputs() const override { return ports_of(model_.outputs()); }
  const Device& device() const override { return model_.device(); }

  Item::Record run(const Item& inputs) override {
    std::vector<Datum> given;
    for (const Item& item : in_order(inputs, inputs_, name_)) given.push_back(datum(item, inputs_[given.size()]));
    const onnx::Outputs results = model_.run(std::move(given));
    const std::vector<onnx::ValueInfo> outputs = model_.outputs();
    Item::Record record;
    for (std::size_t i = 0; i < results.size(); ++i) record.emplace_back(outputs[i].name, item_of(results[i]));
    return record;
  }

 private:
  Datum datum(const Item& item, const Port& port) const {
    const std::string where = text(name_, ": input '", port.name, "'");
    if (const auto* const list = std::get_if<Item::List>(&item.is)) {
      const auto words = from_item<std::vector<std::string>>(*list, where);
      return Datum::of_strings({static_cast<std::int64_t>(words.size())}, words, device());
    }
    if (const auto* const value = std::get_if<Value>(&item.is)) return to_device(*value, device());
    return from_data(with_shape(detail::data_from(item, where), port), device());
  }

  onnx::Model model_;
  std::string name_;
  std::vector<Port> inputs_;
};

}  // namespace

std::shared_ptr<Model> load_onnx(std::span<const std::byte> bytes, const std::string& name, const Device& device,
                                 bool free_batch) {
  onnx::Model model = onnx::load(bytes, name, "", device, {.free_batch = free_batch});
  // A file of no fields at all is one too, to its format.
  require<DataError>(!model.outputs().empty(), name, ": there is no model in it: it is cut, or no ONNX file");
  return std::make_shared<OnnxModel>(std::move(model), name);
}

}  // namespace kiln::browser

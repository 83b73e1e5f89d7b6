#include "kiln/browser/convert.hpp"
#include "kiln/browser/model.hpp"
#include "kiln/ops/functions.hpp"
#include "kiln/store/graph_record.hpp"

namespace kiln::browser {
namespace {

/// A graph's inputs have no names: "input", or "input0", "input1", ...
std::vector<Port> ports_of(const std::vector<Desc>& descs, const std::string& name) {
  std::vector<Port> ports;
  for (const Desc& desc : descs) {
    Port port{.name = descs.size() == 1 ? name : text(name, ports.size()),
              .dtype = std::string(kiln::name(desc.dtype))};
    port.shape.emplace();
    for (const std::int64_t size : desc.shape) port.shape->emplace_back(static_cast<double>(size));
    ports.push_back(std::move(port));
  }
  return ports;
}

class GraphModel final : public Model {
 public:
  GraphModel(Graph graph, const Device& device, std::string name)
      : graph_(std::move(graph)), device_(device), name_(std::move(name)) {}

  std::vector<Port> inputs() const override { return ports_of(graph_.inputs(), "input"); }
  std::vector<Port> outputs() const override { return ports_of(graph_.outputs(), "output"); }
  const Device& device() const override { return device_; }

  Item::Record run(const Item& inputs) override {
    const std::vector<Port> ports = this->inputs();
    Values given;
    for (const Item& item : in_order(inputs, ports, name_)) {
      const Port& port = ports[given.size()];
      const std::string where = text(name_, ": input '", port.name, "'");
      if (const auto* const value = std::get_if<Value>(&item.is)) given.push_back(to_device(*value, device_));
      else given.push_back(from_data(with_shape(detail::data_from(item, where), port), device_));
    }
    const Values results = graph_.replay(given);
    const std::vector<Port> names = outputs();
    Item::Record record;
    for (std::size_t i = 0; i < results.size(); ++i) record.emplace_back(names[i].name, results[i]);
    return record;
  }

 private:
  Graph graph_;
  Device device_;
  std::string name_;
};

}  // namespace

std::shared_ptr<Model> load_graph(std::span<const std::byte> bytes, const std::string& name, const Device& device) {
  return std::make_shared<GraphModel>(graph_from_record(view_safetensors(bytes, name), name, device), device, name);
}

}  // namespace kiln::browser

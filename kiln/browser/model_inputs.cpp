#include <algorithm>

#include "kiln/browser/model.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/core/error/suggest.hpp"

namespace kiln::browser {

TensorData with_shape(TensorData data, const Port& port) {
  if (!port.shape || data.shape().size() != 1 || port.shape->size() == 1) return data;
  constexpr double kMost = 9007199254740992.0;  // 2^53: a file may declare any sizes, whose product has to be exact
  Shape shape;
  double known = 1;
  int free = -1;
  for (const Item& each : *port.shape) {
    const auto* const size = std::get_if<double>(&each.is);
    if (!size) {
      if (free >= 0) return data;
      free = shape.size();
    }
    known *= size ? std::max(*size, 1.0) : 1;
    if (known > kMost) return data;
    shape.push_back(size ? static_cast<std::int64_t>(*size) : 1);
  }
  const auto each = static_cast<std::int64_t>(known);
  if (free >= 0 && data.numel() % each == 0) shape[free] = data.numel() / each;
  return numel(shape) == data.numel() ? data.reshaped(shape) : data;
}

std::vector<Item> in_order(const Item& inputs, const std::vector<Port>& ports, std::string_view model) {
  if (const auto* const list = std::get_if<Item::List>(&inputs.is)) {
    require<ArgumentError>(list->size() == ports.size(), model, ": takes ", ports.size(), " inputs, and got ",
                           list->size());
    return *list;
  }
  const auto* const record = std::get_if<Item::Record>(&inputs.is);
  if (!record) return in_order(Item::List{inputs}, ports, model);

  std::vector<std::string_view> names;
  for (const Port& port : ports) names.push_back(port.name);
  for (const auto& [name, item] : *record)
    require<ArgumentError>(std::find(names.begin(), names.end(), name) != names.end(), model, ": there is no input '",
                           shown(name), "'", did_you_mean(name, names));
  std::vector<Item> ordered;
  for (const std::string_view name : names) {
    const auto given =
        std::find_if(record->begin(), record->end(), [&](const auto& each) { return each.first == name; });
    require<ArgumentError>(given != record->end(), model, ": the input '", shown(name), "' is missing");
    ordered.push_back(given->second);
  }
  return ordered;
}

}  // namespace kiln::browser

#include "kiln/nn/layer_outputs.hpp"

#include <algorithm>
#include <vector>

#include "kiln/core/error/error.hpp"
#include "kiln/core/error/shown.hpp"
#include "kiln/core/error/suggest.hpp"
#include "kiln/core/regex/regex.hpp"
#include "kiln/ops/scope/result_scope.hpp"

namespace kiln {
namespace {

using Layers = std::vector<std::string>;

/// Follows values that are computed from parameters alone: a transposed or cast weight, or one that an adapter changes.
class Watch {
 public:
  /// The parameters of the modules whose paths match.
  Watch(const nn::ModuleView& model, const Regex& pattern) {
    struct Collect {
      Watch& watch;
      const Regex& pattern;
      std::vector<std::string> around{};

      void operator()(const nn::PartPath&, const nn::AnyLeaf& leaf) const {
        if (leaf.is_param() && !leaf.empty()) watch.follow(leaf.value(), around);
      }
      void enter(const nn::PartPath& place, const nn::ModuleView&) {
        around.push_back(!place.path.empty() && pattern.matches(place.path) ? place.path : "");
        watch.modules_.push_back(place.path);
      }
      void leave(const nn::PartPath&, const nn::ModuleView&) { around.pop_back(); }
    };
    nn::walk(model, Collect{*this, pattern}, nn::Visits::InEachPlace);
  }

  bool empty() const { return watched_ == 0; }
  const std::vector<std::string>& modules() const { return modules_; }

  void see(Inputs operands, std::span<const Value> results) {
    Layers layers;
    bool only_params = true, any = false;
    for (const Value& operand : operands) {
      if (!operand.node()) continue;
      const auto found = followed_.find(operand.node().get());
      if (found == followed_.end()) {
        only_params = false;
        continue;
      }
      any = true;
      layers.insert(layers.end(), found->second.layers.begin(), found->second.layers.end());
    }
    if (!any || results.empty()) return;
    if (only_params)
      for (const Value& result : results) follow(result, layers);
    else
      for (const std::string& layer : layers) outputs.by_path.insert_or_assign(layer, results[0]);
  }

  LayerOutputs outputs;

 private:
  struct Followed {
    Value held;  // keeps the address of its node from being reused
    Layers layers;
  };
  /// Parameters of other modules are followed, too: they are no data.
  void follow(const Value& value, const Layers& around) {
    Layers& layers = followed_.try_emplace(value.node().get(), Followed{value, {}}).first->second.layers;
    for (const std::string& layer : around)
      if (!layer.empty() && std::ranges::find(layers, layer) == layers.end()) {
        layers.push_back(layer);
        ++watched_;
      }
  }

  std::map<const void*, Followed> followed_;
  std::vector<std::string> modules_;
  std::int64_t watched_ = 0;
};

}  // namespace

const Value& LayerOutputs::at(std::string_view path) const {
  const auto found = by_path.find(path);
  if (found != by_path.end()) return found->second;
  std::vector<std::string_view> names;
  for (const auto& [name, value] : by_path) names.push_back(name);
  fail<ArgumentError>("layer outputs: '", shown(path), "' was not watched, or not used", did_you_mean(path, names));
}

LayerOutputs nn::watch_layers(const ModuleView& model, std::string_view layers, FunctionRef<void()> forward) {
  Watch watch(model, Regex::glob(layers));
  const std::vector<std::string_view> names(watch.modules().begin(), watch.modules().end());
  require<ArgumentError>(!watch.empty(), "watch_layers: '", shown(layers), "' matches no module with parameters",
                         did_you_mean(layers, names));
  const auto see = [&](Inputs operands, std::span<const Value> results) { watch.see(operands, results); };
  const ResultScope scope(see);
  forward();
  return std::move(watch.outputs);
}

}  // namespace kiln

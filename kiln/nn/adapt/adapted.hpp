// A model with adapters: fine-tuning a large model by training little.
//
//   Adapted<Gpt> model = adapted(std::move(gpt));                          // its own parameters are frozen
//   model.add("style", LoraConfig{.weights = "blocks.*.attention", .rank = 8});
//   auto [loss, grads] = value_and_grad(model, [&](const auto& m) { return loss_of(m.forward(x)); });
//   save(model.adapters, "style.safetensors");                             // the adapters alone
//   Gpt merged = model.merged();
#pragma once
#include <string>
#include <utility>

#include "kiln/nn/adapt/adapter.hpp"
#include "kiln/nn/module/freeze.hpp"
#include "kiln/nn/module/functional.hpp"
#include "kiln/ops/scope/no_grad.hpp"

namespace kiln {

/// Each forward pass first computes the adapted weights, in the order in which the adapters were added. A low-rank
/// adapter costs rank * (elements of the weight), and its gradient goes through a gradient of the whole weight.
/// merged() is as fast as the model itself.
template <Module M>
struct Adapted {
  M base;
  nn::ByName<Adapter> adapters;

  /// Adds an adapter that `config` (a LoraConfig or a MagnitudeConfig) creates for the model with its present adapters.
  /// Throws ArgumentError if the name is taken or contains a dot, or if no parameter is selected.
  template <class Config>
  void add(const std::string& name, const Config& config) {
    add_adapter(name, config.init(model()));
  }
  void add_adapter(const std::string& name, Adapter adapter) {
    require<ArgumentError>(name.find('.') == name.npos, "an adapter cannot be named '", shown(name),
                           "': names are parts of dotted paths");
    adapters.add(name, std::move(adapter));
  }

  /// Stores the selected weights as 8-bit integers from now on, with a scale per output. They are removed from the
  /// base, and this remains the first adapter of these weights. With low-rank adapters on top this is QLoRA (Dettmers,
  /// Pagnoni, Holtzman, Zettlemoyer, "QLoRA: efficient finetuning of quantized LLMs", 2023), except that the codes are
  /// NF4 there. Throws ArgumentError for a weight that is in several places of the model.
  void quantize(const std::string& name, const Selector& weights) {
    add_adapter(name, nn::quantized(nn::params_with_paths(base), weights));
    const nn::ByName<nn::WeightPart>& parts = adapters.at(name).parts;
    visit_params(base, [&](const std::string& path, nn::AnyLeaf& param) {
      if (parts.find(path)) param.clear();
    });
  }

  /// Removes an adapter. Throws ArgumentError if there is none of that name, or if it holds the weights themselves.
  void remove(const std::string& name) {
    for (const auto& [path, part] : adapters.at(name).parts)
      require<ArgumentError>(!std::holds_alternative<nn::Codes>(part), "remove: '", shown(name),
                             "' holds the weights of the model as codes; merged() makes them weights again");
    adapters.remove(name);
  }

  /// The model with the adapted weights, for one use: gradients flow through them to the adapters.
  [[nodiscard("model() changes nothing: it returns a model")]] M model() const {
    return nn::with_computed(
        base, [&](const std::string& path, const Value& weight) { return nn::adapted_weight(adapters, path, weight); });
  }

  /// The model's forward pass with the adapted weights. The statistics of batch norms are updated in the base.
  template <class... Inputs>
  auto forward(const Inputs&... inputs) const {
    const M made = model();
    auto result = made.forward(inputs...);
    std::map<std::string, Value> buffers;
    visit_buffers(made,
                  [&](const std::string& path, const nn::AnyLeaf& buffer) { buffers.emplace(path, buffer.value()); });
    visit_buffers(base, [&](const std::string& path, const nn::AnyLeaf& buffer) {
      if (const Value& learned = buffers.at(path); learned.node() != buffer.value().node()) buffer.learn(learned);
    });
    return result;
  }

  /// The model alone, with the adapters' changes merged into its weights. Parameters that are frozen in the base stay
  /// frozen.
  [[nodiscard("merged() changes nothing: it returns a model")]] M merged() const {
    const NoGrad pause;
    M result = base;
    nn::walk(result, [&](const std::string& path, nn::AnyLeaf& leaf) {
      if (!leaf.is_param()) return;
      const Value weight = nn::adapted_weight(adapters, path, leaf.value());
      if (weight.node() == leaf.value().node()) return;
      const bool absent = leaf.empty();
      leaf.set(weight);
      if (absent) leaf.set_frozen(true);
    });
    return result;
  }
};

/// The model, frozen, ready for adapters. unfreeze(model.base, "head") trains a part of it with them.
template <Module M>
[[nodiscard("adapted() changes no model: it returns one")]] Adapted<M> adapted(M model) {
  return {.base = freeze(std::move(model)), .adapters = {}};
}

}  // namespace kiln

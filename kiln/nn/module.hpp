// What can be done with any module: visiting, replacing, counting and moving its tensors, and switching its mode.
// A module is a value. Copies share their tensors, which never change, until one of them is updated.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kiln/nn/walk.hpp"

namespace kiln {

/// Something with parts: a struct, a Sequential, a vector or a map of modules.
template <class T>
concept Module = nn::Branch<std::remove_cvref_t<T>>;

/// Calls f(path, param), or f(place, param), for each parameter that is present, once if it is in several places; `param`
/// is an nn::AnyLeaf, const if the model is. What f leaves there is put into the other places. Frozen ones are visited as
/// well.
template <class M, class F>
void visit_params(M&& model, F&& f) {
  nn::walk(model, [&](const nn::Place& place, nn::LeafOf<M>& leaf) {
    if (leaf.is_param() && !leaf.empty()) f(place, leaf);
  });
}

/// Calls f(path, buffer), or f(place, buffer), for each buffer that is present.
template <class M, class F>
void visit_buffers(M&& model, F&& f) {
  nn::walk(model, [&](const nn::Place& place, nn::LeafOf<M>& leaf) {
    if (leaf.is_buffer() && !leaf.empty()) f(place, leaf);
  });
}

/// The model with each parameter replaced by f(path, value), a Value of the same rank and kind: a fresh leaf, or frozen
/// where the parameter was.
template <Module M, class F>
M map_params(M model, F&& f) {
  visit_params(model, [&](const std::string& path, nn::AnyLeaf& param) { param.set(f(path, param.value())); });
  return model;
}

/// Elements of all parameters.
std::int64_t num_params(const nn::ModuleView& model);

/// Calls f(path, Value&) for what a record of the model holds: parameters and buffers; what f leaves in the reference
/// takes their place. A const model's are passed by const reference.
template <class M, class F>
void visit_tensors(M&& model, F&& f) {
  nn::walk(model, [&](const std::string& path, nn::LeafOf<M>& leaf) {
    if (!(leaf.is_param() || leaf.is_buffer()) || leaf.empty()) return;
    if constexpr (std::is_const_v<nn::LeafOf<M>>) {
      f(path, leaf.value());
    } else {
      Value value = leaf.value();
      f(path, value);
      if (value.node() != leaf.value().node()) leaf.set(value);
    }
  });
}

namespace nn {
void move_to(const Device& device, const ModuleRef& model);
void set_mode(const ModuleRef& model, Mode mode);
/// Of the modules of these types in it.
void set_mode(const ModuleRef& model, Mode mode, std::span<const PartType* const> types);
}  // namespace nn

/// The model with all its tensors on `device`; parameters that are not frozen are leaves there if it is an autodiff device.
template <Module M>
[[nodiscard("to_device() moves no model: it returns one")]] M to_device(M model, const Device& device) {
  nn::move_to(device, model);
  return model;
}

/// The devices that its tensors are on, each once, in the order in which they are met.
std::vector<Device> devices_of(const nn::ModuleView& model);

/// The model with every Mode in it set.
template <Module M>
[[nodiscard("with_mode() changes no model: it returns one")]] M with_mode(M model, nn::Mode mode) {
  nn::set_mode(model, mode);
  return model;
}

/// The model with the Mode of these modules in it set, wherever they are. Monte-Carlo dropout:
/// with_mode<nn::Dropout>(valid(model), nn::Mode::Train); a batch norm that is frozen while the rest is trained:
/// with_mode<nn::BatchNorm>(train(model), nn::Mode::Valid).
template <Module Layer, Module... Layers, Module M>
[[nodiscard("with_mode() changes no model: it returns one")]] M with_mode(M model, nn::Mode mode) {
  const nn::PartType* const types[] = {&nn::kPartType<Layer>, &nn::kPartType<Layers>...};
  nn::set_mode(model, mode, types);
  return model;
}
/// Dropout drops, batch norm uses the batch's statistics.
template <Module M>
[[nodiscard("train() changes no model: it returns one, and runs no training")]] M train(M model) {
  return with_mode(std::move(model), nn::Mode::Train);
}
/// The model as it is to be used.
template <Module M>
[[nodiscard("valid() changes no model: it returns one")]] M valid(M model) {
  return with_mode(std::move(model), nn::Mode::Valid);
}

}  // namespace kiln

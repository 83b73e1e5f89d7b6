// Operations on any module: visiting, replacing, counting and moving its tensors, and switching its mode. A module is a
// value. Copies share their tensors, which never change, until one of them is updated.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kiln/nn/module/module_of.hpp"
#include "kiln/nn/walk.hpp"

namespace kiln {

/// A type with parts: a struct, a Sequential, a vector or a map of modules.
template <class T>
concept Module = nn::Branch<std::remove_cvref_t<T>>;

/// Calls f(path, param), or f(place, param), for each parameter that is present, once if it is in several places;
/// `param` is an nn::AnyLeaf, const if the model is. If f changes it, the other places get the new value. Frozen ones
/// are visited, too.
template <class M, class F>
void visit_params(M&& model, F&& f) {
  nn::walk(model, [&](const nn::PartPath& place, nn::LeafOf<M>& leaf) {
    if (leaf.is_param() && !leaf.empty()) f(place, leaf);
  });
}

/// Calls f(path, buffer), or f(place, buffer), for each buffer that is present.
template <class M, class F>
void visit_buffers(M&& model, F&& f) {
  nn::walk(model, [&](const nn::PartPath& place, nn::LeafOf<M>& leaf) {
    if (leaf.is_buffer() && !leaf.empty()) f(place, leaf);
  });
}

/// The model with each parameter replaced by f(path, value), a Value of the same rank and kind: a new leaf, or frozen
/// if the parameter was.
template <Module M, class F>
[[nodiscard("map_params() changes no model: it returns one")]] M map_params(M model, F&& f) {
  visit_params(model, [&](const std::string& path, nn::AnyLeaf& param) { param.set(f(path, param.value())); });
  return model;
}

/// The number of elements of all parameters.
std::int64_t num_params(const nn::ModuleView& model);
template <class = void>
std::int64_t num_params(const nn::NoModule& model) {
  return model;
}

/// Calls f(path, Value&) for all tensors that a record of the model contains: parameters and buffers; f may replace the
/// value. The values of a const model are passed by const reference.
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
/// Sets the mode of modules of these types in the model.
void set_mode(const ModuleRef& model, Mode mode, std::span<const PartType* const> types);
}  // namespace nn

/// The model with all its tensors on `device`; parameters that are not frozen are leaves there if it is an autodiff
/// device.
template <Module M>
[[nodiscard("to_device() moves no model: it returns one")]] M to_device(M model, const Device& device) {
  nn::move_to(device, model);
  return model;
}

template <class = void>
nn::NoModule to_device(const nn::NoModule& model, const Device&) {
  return model;
}

/// The devices of the model's tensors, each once, in the order in which they occur.
std::vector<Device> devices_of(const nn::ModuleView& model);

/// The model with every Mode in it set.
template <Module M>
[[nodiscard("with_mode() changes no model: it returns one")]] M with_mode(M model, nn::Mode mode) {
  nn::set_mode(model, mode);
  return model;
}

/// The model with the Mode of modules of these types set, wherever they are. Monte-Carlo dropout:
/// with_mode<nn::Dropout>(valid(model), nn::Mode::Train); a batch norm that is frozen while the rest is trained:
/// with_mode<nn::BatchNorm>(train(model), nn::Mode::Valid).
template <Module Layer, Module... Layers, Module M>
[[nodiscard("with_mode() changes no model: it returns one")]] M with_mode(M model, nn::Mode mode) {
  const nn::PartType* const types[] = {&nn::kPartType<Layer>, &nn::kPartType<Layers>...};
  nn::set_mode(model, mode, types);
  return model;
}
/// The model in training mode: dropout is active, batch norm uses the batch's statistics.
template <Module M>
[[nodiscard("train() changes no model: it returns one, and runs no training")]] M train(M model) {
  return with_mode(std::move(model), nn::Mode::Train);
}
template <class = void>
nn::NoModule train(const nn::NoModule& model) {
  return model;
}
/// The model in inference mode.
template <Module M>
[[nodiscard("valid() changes no model: it returns one")]] M valid(M model) {
  return with_mode(std::move(model), nn::Mode::Valid);
}
template <class = void>
nn::NoModule valid(const nn::NoModule& model) {
  return model;
}

}  // namespace kiln

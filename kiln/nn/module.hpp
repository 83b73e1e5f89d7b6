// What can be done with any module: visiting, replacing, counting and moving its tensors, and switching its mode.
// A module is a value. Copies share their tensors, which never change, until one of them is updated.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kiln/nn/walk.hpp"

namespace kiln {

/// Something with parts: a struct, a Sequential, a vector or a map of modules.
template <class T>
concept Module = nn::Branch<std::remove_cvref_t<T>>;

/// Calls f(path, param), or f(place, param), for each parameter that is present, once if it is in several places; `param`
/// is a Param<D>, or a Param<D, Int> or Param<D, Bool>, const if the model is. What f leaves there is put into the other
/// places. Frozen ones are visited as well.
template <class M, class F>
requires Module<M> void visit_params(M&& model, F&& f) {
  nn::walk(model, [&]<class L>(const nn::Place& place, L& leaf) {
    if constexpr (nn::ParamLike<L>) {
      if (!leaf.empty()) nn::call_with_place(f, place, leaf);
    }
  });
}

/// Calls f(path, buffer), or f(place, buffer), for each buffer that is present.
template <class M, class F>
requires Module<M> void visit_buffers(M&& model, F&& f) {
  nn::walk(model, [&]<class L>(const nn::Place& place, L& leaf) {
    if constexpr (nn::BufferLike<L>) {
      if (!leaf.empty()) nn::call_with_place(f, place, leaf);
    }
  });
}

/// The model with each parameter replaced by f(path, value), a Value of the same rank and kind: a fresh leaf, or frozen
/// where the parameter was.
template <Module M, class F>
M map_params(M model, F&& f) {
  visit_params(model, [&](const std::string& path, auto& param) { param = param.with_value(f(path, param.value())); });
  return model;
}

/// Elements of all parameters.
template <Module M>
std::int64_t num_params(const M& model) {
  std::int64_t count = 0;
  visit_params(model, [&](const std::string&, const auto& param) { count += param.numel(); });
  return count;
}

/// Calls f(path, Value&) for what a record of the model holds: parameters and buffers; what f leaves in the reference
/// takes their place. A const model's are passed by const reference.
template <class M, class F>
requires Module<M> void visit_tensors(M&& model, F&& f) {
  nn::walk(model, [&]<class L>(const std::string& path, L& leaf) {
    if constexpr (nn::ParamLike<L> || nn::BufferLike<L>) {
      if (leaf.empty()) return;
      if constexpr (std::is_const_v<L>) {
        f(path, leaf.value());
      } else {
        Value value = leaf.value();
        f(path, value);
        if (value.node() != leaf.value().node()) leaf = nn::with_value(leaf, value);
      }
    }
  });
}

/// The model with all its tensors on `device`; parameters that are not frozen are leaves there if it is an autodiff device.
template <Module M>
M to_device(M model, const Device& device) {
  nn::walk(model, [&]<class L>(const std::string&, L& leaf) {
    if constexpr (nn::ParamLike<L> || nn::BufferLike<L>) {
      if (!leaf.empty()) leaf = nn::with_value(leaf, to_device(leaf.value(), device));
    } else if constexpr (nn::ConstantLike<L>) {
      if (!leaf.empty()) leaf = leaf.to_device(device);
    }
  });
  return model;
}

/// The devices that its tensors are on, each once, in the order in which they are met.
template <Module M>
std::vector<Device> devices_of(const M& model) {
  std::vector<Device> devices;
  nn::walk(model, [&]<class L>(const std::string&, const L& leaf) {
    if constexpr (nn::ParamLike<L> || nn::BufferLike<L> || nn::ConstantLike<L>) {
      if (leaf.empty()) return;
      const Device device = leaf.value().device();
      if (std::find(devices.begin(), devices.end(), device) == devices.end()) devices.push_back(device);
    }
  });
  return devices;
}

/// The model with every Mode in it set.
template <Module M>
M with_mode(M model, nn::Mode mode) {
  nn::walk(model, [&]<class L>(const std::string&, L& leaf) {
    if constexpr (std::same_as<L, nn::Mode>) leaf = mode;
  });
  return model;
}
namespace nn {
template <class... Layers, class M>
void set_mode_of(M& module, Mode mode) {
  if constexpr ((std::same_as<M, Layers> || ...)) {
    walk(module, [&]<class L>(const std::string&, L& leaf) {
      if constexpr (std::same_as<L, Mode>) leaf = mode;
    });
  } else if constexpr (Branch<M>) {
    for_each_child(module, [&](std::string_view, auto& child) { set_mode_of<Layers...>(child, mode); });
  }
}
}  // namespace nn

/// The model with the Mode of these modules in it set, wherever they are. Monte-Carlo dropout:
/// with_mode<nn::Dropout>(valid(model), nn::Mode::Train); a batch norm that is frozen while the rest is trained:
/// with_mode<nn::BatchNorm>(train(model), nn::Mode::Valid).
template <class Layer, class... Layers, Module M>
M with_mode(M model, nn::Mode mode) {
  nn::set_mode_of<Layer, Layers...>(model, mode);
  return model;
}
/// Dropout drops, batch norm uses the batch's statistics.
template <Module M>
M train(M model) {
  return with_mode(std::move(model), nn::Mode::Train);
}
/// The model as it is to be used.
template <Module M>
M valid(M model) {
  return with_mode(std::move(model), nn::Mode::Valid);
}

}  // namespace kiln

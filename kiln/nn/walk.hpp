// The parts of a module, found by reflection: a module is any plain struct of parameters, buffers, options and other
// modules, on their own or in vectors, arrays, optionals, variants, tuples and Sequential.
#pragma once
#include <array>
#include <concepts>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <variant>
#include <vector>

#include "kiln/core/reflect.hpp"
#include "kiln/core/text.hpp"
#include "kiln/nn/mode.hpp"
#include "kiln/nn/param.hpp"

namespace kiln::nn {

template <class T> inline constexpr bool is_param = false;
template <int D> inline constexpr bool is_param<Param<D>> = true;
template <class T> inline constexpr bool is_buffer = false;
template <int D> inline constexpr bool is_buffer<Buffer<D>> = true;
template <class T> inline constexpr bool is_constant = false;
template <int D, class K> inline constexpr bool is_constant<Tensor<D, K>> = true;

template <class T>
concept ParamLike = is_param<std::remove_const_t<T>>;
template <class T>
concept BufferLike = is_buffer<std::remove_const_t<T>>;
/// A plain tensor in a module: moved with it, neither trained nor saved.
template <class T>
concept ConstantLike = is_constant<std::remove_const_t<T>>;
template <class T>
concept Leaf = ParamLike<T> || BufferLike<T> || ConstantLike<T> || std::same_as<std::remove_const_t<T>, Mode>;

template <class T> inline constexpr bool is_list = false;
template <class T> inline constexpr bool is_list<std::vector<T>> = true;
template <class T, std::size_t N> inline constexpr bool is_list<std::array<T, N>> = true;
template <class T> inline constexpr bool is_optional = false;
template <class T> inline constexpr bool is_optional<std::optional<T>> = true;
template <class T> inline constexpr bool is_variant = false;
template <class... Ts> inline constexpr bool is_variant<std::variant<Ts...>> = true;
template <class T> inline constexpr bool is_tuple = false;
template <class... Ts> inline constexpr bool is_tuple<std::tuple<Ts...>> = true;

/// A class that stands for its tuple of layers: Sequential.
template <class T>
concept Layered = requires(T& module) { module.layers(); };

// What walk() enters: structs, and collections of structs or leaves. Anything else is a leaf or an option.
template <class T> inline constexpr bool is_branch = !Leaf<T> && (Layered<T> || reflect::Aggregate<T>);
template <class T> inline constexpr bool is_part = Leaf<T> || is_branch<T>;
template <class T> inline constexpr bool is_branch<std::vector<T>> = is_part<T>;
template <class T, std::size_t N> inline constexpr bool is_branch<std::array<T, N>> = is_part<T>;
template <class T> inline constexpr bool is_branch<std::optional<T>> = is_part<T>;
template <class... Ts> inline constexpr bool is_branch<std::variant<Ts...>> = (is_part<Ts> || ...);
template <class... Ts> inline constexpr bool is_branch<std::tuple<Ts...>> = (is_part<Ts> || ...);
template <class T>
concept Branch = is_branch<std::remove_const_t<T>>;

/// Calls f(name, child) for each direct part of a branch. An entry of a list or a tuple is named by its index; what an
/// optional or a variant holds has no name of its own: "".
template <Branch M, class F>
void for_each_child(M& module, F&& f) {
  using T = std::remove_const_t<M>;
  if constexpr (Layered<M>) {
    for_each_child(module.layers(), f);
  } else if constexpr (is_list<T>) {
    std::int64_t index = 0;
    for (auto& entry : module) f(std::string_view(text(index++)), entry);
  } else if constexpr (is_optional<T>) {
    if (module) f(std::string_view(), *module);
  } else if constexpr (is_variant<T>) {
    std::visit([&](auto& held) { f(std::string_view(), held); }, module);
  } else if constexpr (is_tuple<T>) {
    std::apply(
        [&](auto&... entries) {
          std::int64_t index = 0;
          (f(std::string_view(text(index++)), entries), ...);
        },
        module);
  } else {
    reflect::for_each_field(module, f);
  }
}

/// "blocks.0.mlp" + "weight"; an empty name adds nothing.
inline std::string joined(const std::string& path, std::string_view name) {
  if (path.empty() || name.empty()) return text(path, name);
  return text(path, '.', name);
}

/// Calls f(path, leaf) for each Param, Buffer, constant Tensor and Mode in the module, in order of declaration. Paths
/// are dotted: "conv1.weight", "blocks.0.mlp.weight". Absent parameters are visited too.
template <class M, class F>
void walk(M& module, F&& f, const std::string& path = {}) {
  if constexpr (Leaf<M>) {
    f(path, module);
  } else if constexpr (Branch<M>) {
    for_each_child(module, [&](std::string_view name, auto& child) { walk(child, f, joined(path, name)); });
  }
}

}  // namespace kiln::nn

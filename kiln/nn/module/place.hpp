// Where a part of a module stands: its dotted path, and the types of the modules around it.
#pragma once
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "kiln/core/reflect/reflect.hpp"

namespace kiln::nn {

struct Place {
  std::string path;                     // "blocks.0.attention.query.weight"
  std::vector<std::string_view> types;  // from the outside in: "Gpt", "Block", "MultiHeadAttention", "Linear"
};

/// "Linear": what a module's struct is called, or what its kName says.
template <class T>
constexpr std::string_view module_name() {
  if constexpr (requires { T::kName; }) return T::kName;
  else return reflect::type_name<T>();
}

/// "blocks.0.mlp" + "weight"; an empty name adds nothing.
inline std::string joined(const std::string& path, std::string_view name) {
  if (path.empty() || name.empty()) return text(path, name);
  return text(path, '.', name);
}

/// Calls f(path, part), or f(place, part) where that is what f takes.
template <class F, class T>
void call_with_place(F& f, const Place& place, T& part) {
  if constexpr (std::is_invocable_v<F&, const std::string&, T&>) f(place.path, part);
  else f(place, part);
}

}  // namespace kiln::nn

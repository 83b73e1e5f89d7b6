// The place of a part in a module: its dotted path, and the types of the modules around it.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "kiln/core/reflect/reflect.hpp"
#include "kiln/core/text.hpp"

namespace kiln::nn {

struct PartPath {
  std::string path;                     // "blocks.0.attention.query.weight"
  std::vector<std::string_view> types;  // outermost first: "Gpt", "Block", "MultiHeadAttention", "Linear"

  operator const std::string&() const { return path; }
};

using Place [[deprecated("kiln::nn::Place is now PartPath")]] = PartPath;

/// "Linear": the name of a module's struct, or its kName.
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

}  // namespace kiln::nn

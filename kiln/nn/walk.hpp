// Visits the parts of a module of any type.
#pragma once
#include <concepts>
#include <map>
#include <type_traits>

#include "kiln/nn/module/part_type.hpp"

namespace kiln::nn {

/// The parameters that a walk has visited, and where.
class VisitedParams {
 public:
  /// The place where this parameter was first visited; null if that is here, or the parameter is absent.
  const void* before(const Ref<ParamIdentity>& identity, const void* param);

 private:
  struct Visit {
    Ref<ParamIdentity> held;  // keeps its address from being reused
    const void* param;
  };
  std::map<const void*, Visit> places_;
};

/// A type that walk() accepts.
template <class M>
concept Walkable = Leaf<M> || Branch<std::remove_const_t<M>> || std::derived_from<M, ModuleView>;
template <class M>
inline constexpr bool is_const_part =
    std::derived_from<M, ModuleView> ? !std::derived_from<M, ModuleRef> : std::is_const_v<M>;
/// A leaf of M, which may be a reference; const if M is.
template <class M>
using LeafOf = std::conditional_t<is_const_part<std::remove_reference_t<M>>, const AnyLeaf, AnyLeaf>;

/// The functions that a walk calls.
struct Visitor {
  FunctionRef<void(const PartPath&, AnyLeaf&)> leaf;
  FunctionRef<void(const PartPath&, const ModuleView&)> enter, leave;
};
enum class Visits : std::uint8_t { Once, InEachPlace };  // how often a parameter that is in several places is visited
/// If `is_const`, the part is not changed.
void walk(const ModuleView& part, const Visitor& visitor, Visits visits, bool is_const);

/// Calls f(place, leaf) for each Param, Buffer, constant Tensor and Mode in the module, in order of declaration; the
/// leaf is an AnyLeaf, const if the module is. A place has the types of the modules around it, and converts to its path
/// as a std::string: "conv1.weight", "blocks.0.mlp.weight". Absent parameters are visited too. A parameter that is in
/// several places is visited in the first of them; if f changes it, the others get the new value.
///
/// If f has enter(place, module) and leave(place, module), they are called before and after the parts of each struct
/// and Sequential, with a ModuleView.
template <class M, class F>
requires Walkable<std::remove_reference_t<M>> void walk(M&& module, F&& f, Visits visits = Visits::Once) {
  const auto leaf = [&](const PartPath& place, LeafOf<M>& visited) { f(place, visited); };
  const auto enter = [&](const PartPath& place, const ModuleView& entered) {
    if constexpr (requires { f.enter(place, entered); }) f.enter(place, entered);
  };
  const auto leave = [&](const PartPath& place, const ModuleView& left) {
    if constexpr (requires { f.leave(place, left); }) f.leave(place, left);
  };
  walk(view_of(module), Visitor{leaf, enter, leave}, visits, is_const_part<std::remove_reference_t<M>>);
}

}  // namespace kiln::nn

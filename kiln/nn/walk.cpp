#include "kiln/nn/walk.hpp"

namespace kiln::nn {

const void* VisitedParams::before(const Ref<ParamIdentity>& identity, const void* param) {
  if (!identity) return nullptr;
  const auto [entry, fresh] = places_.try_emplace(identity.get(), Visit{identity, param});
  return fresh ? nullptr : entry->second.param;
}

namespace {

struct Walk {
  const Visitor& visitor;
  VisitedParams* met;  // null if a parameter is to be visited in each of its places
  bool is_const;
  PartPath place{};

  void visit(void* part, const PartType& type) {
    if (type.each_part) visit_module(part, type);
    else if (type.sort != PartType::Sort::Option) visit_leaf(part, type);
  }

  void visit_leaf(void* part, const PartType& type) {
    const bool is_param = type.sort == PartType::Sort::Param;
    if (const void* const first = met && is_param ? met->before(type.tensor().identity(part), part) : nullptr) {
      if (!is_const) type.tensor().tie(part, first);
      return;
    }
    AnyLeaf leaf(part, type);
    visitor.leaf(place, leaf);
  }

  void visit_module(void* part, const PartType& type) {
    const bool named = type.sort == PartType::Sort::Struct;
    const ModuleView module(part, type);
    if (named) {
      place.types.push_back(type.name);
      visitor.enter(place, module);
    }
    type.each_part(part, [&](std::string_view name, void* child, const PartType& child_type) {
      const std::size_t length = place.path.size();
      if (length && !name.empty()) place.path += '.';
      place.path += name;
      visit(child, child_type);
      place.path.resize(length);
    });
    if (named) {
      visitor.leave(place, module);
      place.types.pop_back();
    }
  }
};

}  // namespace

void walk(const ModuleView& part, const Visitor& visitor, Visits visits, bool is_const) {
  VisitedParams met;
  Walk{visitor, visits == Visits::Once ? &met : nullptr, is_const}.visit(part.object(), part.type());
}

}  // namespace kiln::nn

// The tree of scopes that the names of layers give.
#include "kiln/onnx/generate/structs.hpp"

#include <algorithm>

#include "kiln/onnx/generate/struct_builder.hpp"

namespace kiln::onnx::cpp {

bool is_number(const std::string& name) { return !name.empty() && name[0] >= '0' && name[0] <= '9'; }

bool begins_with(const Path& path, const Path& start) {
  return path.size() >= start.size() && std::equal(start.begin(), start.end(), path.begin());
}

Structs StructBuilder::run() {
  structs_.root = std::make_unique<Scope>();
  structs_.name = type_name(name_);
  for (std::size_t i = 0; i < program_.layers.size(); ++i)
    insert(*structs_.root, program_.layers[i].path, static_cast<int>(i));
  for (auto& child : structs_.root->children) collapse(*child);
  Scope& root = *structs_.root;
  root.inputs = program_.inputs;
  number(root);
  find_parts(root, root, "");
  root.has_forward = true;
  root.body = distributed(root, root, program_.statements);
  settle(root);
  structs_.output_types = program_.result_types;
  return std::move(structs_);
}

void StructBuilder::insert(Scope& root, const Path& path, int layer) {
  Scope* at = &root;
  for (std::size_t i = 0; i < path.size(); ++i) {
    const auto found = std::find_if(at->children.begin(), at->children.end(),
                                    [&](const auto& child) { return child->name == path[i]; });
    if (found != at->children.end()) {
      at = found->get();
      continue;
    }
    auto made = std::make_unique<Scope>();
    made->name = path[i];
    made->path.assign(path.begin(), path.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    at->children.push_back(std::move(made));
    at = at->children.back().get();
  }
  at->layer = layer;
}

void StructBuilder::collapse(Scope& scope) {
  for (auto& child : scope.children) collapse(*child);
  if (scope.children.size() == 1 && !scope.children[0]->is_list) {
    std::unique_ptr<Scope> child = std::move(scope.children[0]);
    child->name = text(scope.name, '_', child->name);
    Scope taken = std::move(*child);
    scope = std::move(taken);
    return;
  }
  scope.is_list = !scope.children.empty() && std::all_of(scope.children.begin(), scope.children.end(),
                                                         [](const auto& child) { return is_number(child->name); });
  if (scope.is_list)
    std::stable_sort(scope.children.begin(), scope.children.end(), [](const auto& a, const auto& b) {
      return std::strtoll(a->name.c_str(), nullptr, 10) < std::strtoll(b->name.c_str(), nullptr, 10);
    });
}

void StructBuilder::number(Scope& scope) {
  if (scope.layer < 0 && !scope.is_list) {
    scope.number = static_cast<int>(scopes_.size());
    scopes_.push_back(&scope);
  }
  for (auto& child : scope.children) number(*child);
}

void StructBuilder::find_parts(Scope& owner, Scope& scope, const std::string& list) {
  for (auto& child : scope.children) {
    const std::string field = list.empty() ? child->name : text(list, '_', child->name);
    if (child->is_list) {
      find_parts(owner, *child, field);
      continue;
    }
    names_[child.get()] = {field, list};
    owner.parts.push_back(child.get());
    parents_[child.get()] = &owner;
    if (child->layer < 0) find_parts(*child, *child, "");
    else leaves_[child->layer] = child.get();
  }
}

Structs structs_of(const Program& program, const std::string& name, const std::string& file) {
  return StructBuilder(program, name, file).run();
}

}  // namespace kiln::onnx::cpp

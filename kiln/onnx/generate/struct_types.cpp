// Structs that are the same become one type, parts of it its fields.
#include <algorithm>

#include "kiln/core/error/shown.hpp"
#include "kiln/onnx/generate/struct_builder.hpp"

namespace kiln::onnx::cpp {
namespace {

constexpr std::size_t kMostFields = 30;  // reflection takes two more

}  // namespace

void StructBuilder::settle(Scope& scope) {
  for (Scope* const part : scope.parts)
    if (part->layer < 0) settle(*part);
  auto type = std::make_unique<StructType>();
  const bool is_root = &scope == structs_.root.get();
  find_fields(scope, *type);
  type->has_forward = scope.has_forward;
  if (scope.has_forward) write_forward(scope, *type, is_root);
  for (const Field& field : type->fields)
    type->key += text(field.type, field.is_list ? "*" : " ", field.count, field.name, '\n');
  type->key += text(type->result, '\n', type->signature, '\n', type->forward);
  for (const auto& known : structs_.types)
    if (known->key == type->key) {
      known->instances.push_back(&scope);
      scope.type = known.get();
      return;
    }
  std::string name = names_[&scope].list.empty() ? scope.name : text(names_[&scope].list, "_block");
  type->name = is_root ? structs_.name : type_name(name);
  type->instances.push_back(&scope);
  scope.type = type.get();
  structs_.types.push_back(std::move(type));
}

std::string StructBuilder::type_name(const std::string& of) {
  const std::string wanted = type_identifier(of, "Part");
  for (int i = 1;; ++i) {
    const std::string name = i == 1 ? wanted : text(wanted, is_number(wanted.substr(wanted.size() - 1)) ? "_" : "", i);
    if (type_names_.count(name) || type_names_.count(name + "Config")) continue;
    type_names_.insert({name, name + "Config", name + "Outputs"});
    return name;
  }
}

std::string StructBuilder::part_type(const Scope& part) const {
  return part.layer >= 0 ? program_.layers[static_cast<std::size_t>(part.layer)].type : part.type->name;
}

void StructBuilder::find_fields(const Scope& scope, StructType& type) {
  std::set<std::string> taken = {"forward", "init"};
  const std::vector<Scope*>& parts = scope.parts;
  for (std::size_t first = 0; first < parts.size();) {
    const Names& names = names_[parts[first]];
    const std::string is = part_type(*parts[first]);
    std::size_t last = first + 1;
    while (!names.list.empty() && last < parts.size() && names_[parts[last]].list == names.list &&
           part_type(*parts[last]) == is)
      ++last;
    Field field{names.field, is, "", first, last - first, last - first > 1};
    if (field.is_list) {
      const auto in_list = [&](std::size_t i) { return i < parts.size() && names_[parts[i]].list == names.list; };
      const bool whole = (first == 0 || !in_list(first - 1)) && !in_list(last);
      field.name = whole ? names.list : text(names.field, "_to_", parts[last - 1]->name);
    }
    field.name = unique(identifier(field.name, "part"), taken);
    type.fields.push_back(std::move(field));
    first = last;
  }
  if (type.fields.size() <= kMostFields + 2) return;
  require<LoadError>(type.fields.size() <= kMostFields * kMostFields, shown(file_), ": ", type.fields.size(),
                     " layers stand beside one another, and a struct has ", kMostFields * kMostFields, " at most");
  for (std::size_t i = 0; i < type.fields.size(); ++i) {
    type.fields[i].group = text("part", i / kMostFields + 1);
    taken.insert(type.fields[i].group);
  }
}

std::string StructBuilder::access(const Scope& scope, const Scope& part) const {
  const Scope* const parent = parents_.at(&part);
  const std::vector<Field>& fields = parent == &scope ? current_->fields : parent->type->fields;
  const auto place =
      static_cast<std::size_t>(std::find(parent->parts.begin(), parent->parts.end(), &part) - parent->parts.begin());
  const auto field = std::find_if(fields.begin(), fields.end(), [&](const Field& each) {
    return each.first <= place && place < each.first + each.count;
  });
  std::string own = field->path();
  if (field->is_list) own += text('[', place - field->first, ']');
  return parent == &scope ? own : text(access(scope, *parent), '.', own);
}

}  // namespace kiln::onnx::cpp

// Configs of types: their parameters and init(); and the tensors of fields.
#include <algorithm>

#include "kiln/onnx/generate/structs.hpp"

namespace kiln::onnx::cpp {
namespace {

// The values that a type's instances have for something: one for all, or a parameter of the config.
class Columns {
 public:
  explicit Columns(StructType& type) : type_(type) {}
  std::string text_of(const std::vector<std::string>& values, const std::string& type, const std::string& name) {
    if (std::all_of(values.begin(), values.end(), [&](const std::string& each) { return each == values[0]; }))
      return values[0];
    for (std::size_t i = 0; i < known_.size(); ++i)
      if (known_[i] == values && type_.parameters[i].type == type) return type_.parameters[i].name;
    known_.push_back(values);
    type_.parameters.push_back({type, unique(identifier(name, "part"), taken_)});
    for (std::size_t i = 0; i < values.size(); ++i) type_.instances[i]->arguments.push_back(values[i]);
    return type_.parameters.back().name;
  }

 private:
  StructType& type_;
  std::vector<std::vector<std::string>> known_;
  std::set<std::string> taken_ = {"init", "made", "device"};
};

template <class F>
std::vector<std::string> column(const StructType& type, std::size_t part, F&& value) {
  std::vector<std::string> values;
  for (const Scope* instance : type.instances) values.push_back(value(*instance->parts[part]));
  return values;
}

}  // namespace

void find_parameters(Structs& structs, const Program& program) {
  const auto layer_of = [&](const Scope& scope) -> const Layer& {
    return program.layers[static_cast<std::size_t>(scope.layer)];
  };
  for (auto& type : structs.types) {
    Columns columns(*type);
    for (const Field& field : type->fields) {
      std::vector<std::string> made;
      for (std::size_t part = field.first; part < field.first + field.count; ++part) {
        const Scope& first = *type->instances[0]->parts[part];
        const std::string prefix = field.is_list ? text(field.name, '_', part - field.first) : field.name;
        std::string options;
        const auto add = [&](const std::string& name, const std::string& value) {
          options += text(options.empty() ? "" : ", ", '.', name, " = ", value);
        };
        if (first.layer < 0) {
          for (std::size_t p = 0; p < first.type->parameters.size(); ++p) {
            const Parameter& parameter = first.type->parameters[p];
            add(parameter.name,
                columns.text_of(column(*type, part, [&](const Scope& each) { return each.arguments[p]; }),
                                parameter.type, text(prefix, '_', parameter.name)));
          }
          made.push_back(text(first.type->name, "Config{", options, "}.init(device)"));
          continue;
        }
        const Layer& layer = layer_of(first);
        std::vector<std::string> values;
        for (std::size_t o = 0; o < layer.options.size(); ++o) {
          const Option& option = layer.options[o];
          const auto all = column(*type, part, [&](const Scope& each) { return layer_of(each).options[o].value; });
          const bool usual = std::all_of(type->instances.begin(), type->instances.end(), [&](const Scope* each) {
            const Option& own = layer_of(*each->parts[part]).options[o];
            return own.value == own.usual;
          });
          values.push_back(columns.text_of(all, option.type, text(prefix, '_', option.name)));
          if (!usual) add(option.name, values.back());
        }
        if (!layer.config.empty()) {
          made.push_back(text(layer.config, '{', options, "}.init(device)"));
          continue;
        }
        const std::string tensor = "Tensor" + layer.type.substr(layer.type.find('<'));
        made.push_back(text(layer.type, '(', tensor, "::zeros(", values[0], ", device",
                            values[1] == "DType::F32" ? "" : ", " + values[1], "))"));
      }
      const std::string to = text("made.", field.path());
      const bool same = std::all_of(made.begin(), made.end(), [&](const std::string& each) { return each == made[0]; });
      if (!field.is_list) type->init += text(to, " = ", made[0], ";\n");
      else if (same)
        type->init += text("for (int i = 0; i < ", made.size(), "; ++i) ", to, ".push_back(", made[0], ");\n");
      else
        for (const std::string& each : made) type->init += text(to, ".push_back(", each, ");\n");
    }
  }
}

namespace {

void add_weights(const Scope& scope, const std::string& path, const Program& program,
                 std::map<std::string, Value>& weights) {
  for (const Field& field : scope.type->fields)
    for (std::size_t i = 0; i < field.count; ++i) {
      const Scope& part = *scope.parts[field.first + i];
      std::string own = text(path, path.empty() ? "" : ".", field.path());
      if (field.is_list) own += text('.', i);
      if (part.layer < 0) {
        add_weights(part, own, program, weights);
        continue;
      }
      for (const auto& [name, value] : program.layers[static_cast<std::size_t>(part.layer)].tensors)
        weights.emplace(name.empty() ? own : text(own, '.', name), value);
    }
}

}  // namespace

std::map<std::string, Value> weights_of(const Structs& structs, const Program& program) {
  std::map<std::string, Value> weights;
  add_weights(*structs.root, "", program, weights);
  return weights;
}

}  // namespace kiln::onnx::cpp

// A program as structs: an instance for each scope that holds layers, a type for each kind of them. Two scopes are of one
// type where they have the same fields and their forward() reads the same; what differs then is what their config takes.
#pragma once
#include <memory>

#include "kiln/onnx/generate/lowering.hpp"

namespace kiln::onnx::cpp {

struct StructType;

/// A scope of the file, or one of its layers.
struct Scope {
  std::string name;  // the last part of its path, or several that nothing else lies between
  Path path;
  int layer = -1;                                // the number of the layer, where it is one
  std::vector<std::unique_ptr<Scope>> children;  // in the order of the layers
  bool is_list = false;                          // its children are numbered, and belong to the scope around it
  // ---- of a struct ----
  int number = -1;
  std::vector<Statement> body;  // its forward(), where it has one, with calls of other structs
  bool has_forward = false;
  std::vector<int> inputs, outputs;  // values
  std::vector<Scope*> parts;         // in the order of the fields, those of lists in the list's order
  const StructType* type = nullptr;
  std::vector<std::string> arguments;  // for the type's parameters
};

/// A field: one part, or a vector of them.
struct Field {
  std::string name, type, group;  // group: a struct around it, where there are more than reflection takes
  std::size_t first = 0, count = 1;
  bool is_list = false;
  std::string path() const { return group.empty() ? name : text(group, '.', name); }
};

/// A field of a config: a value that differs between instances of the type.
struct Parameter {
  std::string type, name;
};

struct StructType {
  std::string name, key;
  std::vector<Field> fields;
  std::string result, signature, forward;  // "Tensor<4>", "forward(const Tensor<4>& x) const", and the body
  std::vector<Scope*> instances;
  std::vector<Parameter> parameters;
  std::string init;  // the body of the config's init()
  bool has_forward = false;
};

struct Structs {
  std::string name;  // the name of the root's type
  std::unique_ptr<Scope> root;
  std::vector<std::unique_ptr<StructType>> types;  // those that others are made of first
  std::vector<std::string> inputs, outputs;        // names in the root's forward()
  std::vector<Type> output_types;
};

/// Throws LoadError where a struct would have more fields than there can be.
Structs structs_of(const Program& program, const std::string& name, const std::string& file);

/// Fills the parameters of the types' configs, and init().
void find_parameters(Structs& structs, const Program& program);
/// The tensors by the paths of the fields that hold them: "layer1.0.conv1.weight".
std::map<std::string, Value> weights_of(const Structs& structs, const Program& program);

}  // namespace kiln::onnx::cpp

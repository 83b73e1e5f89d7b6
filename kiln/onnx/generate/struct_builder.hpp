// The step from a program to structs while it goes on.
#pragma once
#include "kiln/onnx/generate/structs.hpp"

namespace kiln::onnx::cpp {

class StructBuilder {
 public:
  StructBuilder(const Program& program, const std::string& name, const std::string& file)
      : program_(program), name_(name), file_(file) {}
  Structs run();

 private:
  // ---- the tree of scopes: structs.cpp --------------------------------------------------------------------------------
  static void insert(Scope& root, const Path& path, int layer);
  /// A scope around one other alone is no struct of its own; one of numbered scopes is a list.
  static void collapse(Scope& scope);
  void number(Scope& scope);
  /// What stands in the struct of `owner`: its children, those of lists under the lists' names.
  void find_parts(Scope& owner, Scope& scope, const std::string& list);

  // ---- statements: struct_bodies.cpp ----------------------------------------------------------------------------------
  /// How often a body and its results read each value.
  static std::map<int, int> reads_of(const std::vector<Statement>& body, const std::vector<std::string>& results);
  std::vector<std::string> results_of(const Scope& scope) const;
  /// Statements of the body of `scope` with a call in place of those of each struct below `owner` that can be computed at
  /// one time.
  std::vector<Statement> distributed(const Scope& scope, const Scope& owner, std::vector<Statement> statements);
  bool make_forward(const Scope& scope, Scope& part, std::vector<Statement>& statements, std::size_t first,
                    std::size_t count);
  bool is_below(const Scope& part, const Scope& scope) const;
  /// A value that statements of the main graph or inputs make.
  bool is_outer(int value);

  // ---- types: struct_types.cpp ----------------------------------------------------------------------------------------
  void settle(Scope& scope);
  /// With a config, and perhaps outputs, of that name.
  std::string type_name(const std::string& of);
  std::string part_type(const Scope& part) const;
  void find_fields(const Scope& scope, StructType& type);
  /// "layer1[2].conv1" of a layer or a struct in `scope`, at any depth below it.
  std::string access(const Scope& scope, const Scope& part);

  // ---- forward(): forwards.cpp ----------------------------------------------------------------------------------------
  /// What a value may be called in this scope: "conv1" of /layer1/layer1.0/conv1/Conv_output_0 in layer1.0.
  std::string local_name(int value, const Scope& scope) const;
  /// What the module conv1 gives is called conv1_out beside it.
  static std::string beside(const StructType& type, std::string name);
  void write_forward(Scope& scope, StructType& type, bool is_root);
  std::string written(const std::string& text, const Scope& scope, const std::map<int, std::string>& names);
  std::size_t add_loop(const Scope& scope, std::size_t first, std::map<int, std::string>& names,
                       std::set<std::string>& taken, std::string& out);

  struct Names {
    std::string field, list;
  };

  const Program& program_;
  const std::string name_, file_;
  Structs structs_;
  std::vector<Scope*> scopes_;
  std::map<const Scope*, Names> names_;
  std::map<const Scope*, Scope*> parents_;
  std::map<int, const Scope*> leaves_;
  std::map<int, int> reads_;  // of the body that is being written
  std::vector<bool> outer_;
  std::set<std::string> type_names_ = {"Device",  "Tensor", "Float", "Int",  "Bool",
                                       "Spatial", "Shape",  "Value", "DType"};
  const StructType* current_ = nullptr;
};

/// It begins with a digit.
bool is_number(const std::string& name);
/// The path lies at `start` or below it.
bool begins_with(const Path& path, const Path& start);

}  // namespace kiln::onnx::cpp

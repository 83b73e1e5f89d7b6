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
  /// Lists the parts of the struct of `owner`: its children, those of lists under the lists' names.
  void find_parts(Scope& owner, Scope& scope, const std::string& list);

  // ---- statements: struct_bodies.cpp ----------------------------------------------------------------------------------
  /// The number of times that a body and its results read each value.
  static std::map<int, int> reads_of(const std::vector<Statement>& body, const Code::List& results);
  Code::List results_of(const Scope& scope) const;
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
  /// A name that is free for a type, its config and its outputs.
  std::string type_name(const std::string& of);
  std::string part_type(const Scope& part) const;
  void find_fields(const Scope& scope, StructType& type);
  /// "layer1[2].conv1" of a layer or a struct in `scope`, at any depth below it.
  std::string access(const Scope& scope, const Scope& part) const;

  // ---- forward(): forwards.cpp ----------------------------------------------------------------------------------------
  /// A forward() while it is written.
  struct Forward {
    Scope& scope;
    StructType& type;
    bool is_root;
    Code::List results = {};
    std::map<int, int> reads = {};   // how often each value is read
    std::map<int, Code> names = {};  // a variable, or the expression that stands in place of the only read
    std::set<std::string> taken = {};
    std::vector<Line> lines = {};
  };
  void write_forward(Scope& scope, StructType& type, bool is_root);
  /// Names the inputs, and gives the parameters of forward().
  std::string add_inputs(Forward& forward);
  void add_statement(Forward& forward, std::size_t number);
  void add_several(Forward& forward, const Statement& statement);
  /// The value is read once, by the next statement or as the result.
  bool is_read_next(const Forward& forward, std::size_t number) const;
  /// Makes a loop of calls of all elements of a list. Returns the number of statements that it stands for, 0 if there is none.
  std::size_t add_loop(Forward& forward, std::size_t first);
  /// The index of the operand that each element of a list takes from the element before it; nothing where the calls are
  /// no chain.
  std::optional<std::size_t> chained_operand(const Forward& forward, std::size_t first, const Field& field) const;
  /// The struct whose forward() a statement calls; null for others.
  const Scope* called(const Statement& statement) const;
  void add_device(Forward& forward, const Code& result, std::string& parameters) const;
  std::string result_type(const Forward& forward) const;
  /// A new variable for a value.
  Code variable(Forward& forward, int value, std::string name) const;
  const Type& type_of(int value) const { return program_[value].type; }
  /// What a value may be called in this scope: "conv1" of /layer1/layer1.0/conv1/Conv_output_0 in layer1.0.
  std::string local_name(int value, const Scope& scope) const;
  /// The code with names in place of references.
  Code named(Code code, const Forward& forward) const;
  void replace_references(Code& code, const Forward& forward) const;

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

// How a graph becomes C++:
//
//   Graph      of a file: functions inlined, simplified but for what training needs   prepare.cpp
//   Examples   runs that show what its values are, of every branch if that can be     observe.cpp, examples.cpp
//   Program    a Layer for each module and parameter, a Statement for each node       lower.cpp, forms/, layers.cpp,
//                                                                                     constants.cpp, nodes.cpp
//   Struct     layers by the scope of their names, statements in the forward() of the innermost one that they
//              belong to, structs that are the same once                              structs.cpp, struct_bodies.cpp,
//                                                                                     struct_types.cpp, forwards.cpp,
//                                                                                     parameters.cpp
//   Generated  the text, and the tensors by the fields that hold them                 print.cpp, generate.cpp
//
// A statement is a tree of C++ (code.hpp) that refers to values and layers by number. Their names are found when it is
// known which function the statement stands in.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kiln/onnx/call.hpp"
#include "kiln/onnx/generate/code.hpp"
#include "kiln/onnx/generate/generate.hpp"
#include "kiln/onnx/passes/shapes.hpp"

namespace kiln::onnx::cpp {

using Path = std::vector<std::string>;  // "layer1", "0", "conv1"

/// The C++ type of a value: a Tensor of this rank and kind, or (rank -1) a Datum.
struct Type {
  int rank = -1;
  kiln::Kind kind = kiln::Kind::Float;
  bool is_tensor() const { return rank >= 0; }
  bool operator==(const Type&) const = default;
};
std::string name_of(const Type& type);

struct Variable {
  std::string name;  // in the file
  Type type;
  Element element = Element::Undefined;
  std::optional<PartialShape> shape;
};

/// A field of a layer's config.
struct Option {
  std::string name, type, value, usual;  // "stride", "Spatial", "{2, 2}", and what need not be said
};

/// A field of a struct: a module, a parameter or a buffer.
struct Layer {
  Path path;
  std::string type, config;  // "nn::Conv2d", "nn::Conv2dConfig"; without a config it is of a shape
  std::vector<Option> options;
  std::map<std::string, Value> tensors;  // by the layer's fields: "weight"; a parameter is its own, ""
  std::string fallback = "constant";     // its name where its path is that of others, too
};

struct Statement {
  enum class Form : std::uint8_t {
    Expression,  // of the result's type
    Applied,     // a call of apply(), which becomes the type that is declared
    Several,     // a call of apply_for()
    Lines,       // lines that declare the results
  };
  Path scope = {};
  std::vector<int> results = {};  // values
  std::vector<int> indices = {};  // the node's outputs that the results of Several are
  Code code = {};
  std::vector<Line> lines = {};
  Form form = Form::Expression;
};
template <class S, class F>
requires std::same_as<std::remove_const_t<S>, Statement> void each_code(S& statement, F&& f) {
  each_code(statement.code, f);
  for (auto& line : statement.lines) each_code(line, f);
}

struct Program {
  std::vector<Variable> values;
  std::vector<int> inputs;
  std::vector<Layer> layers;
  std::vector<Statement> statements;
  std::vector<Code> results;  // results of forward()
  std::vector<Type> result_types;
  std::vector<std::string> result_names;

  Variable& operator[](int value) { return values[static_cast<std::size_t>(value)]; }
  const Variable& operator[](int value) const { return values[static_cast<std::size_t>(value)]; }
};

/// Properties of a graph's values that runs on examples showed.
struct Observed {
  struct Seen {
    Datum::Kind kind = Datum::Kind::Absent;
    Element element = Element::Undefined;
    int rank = -1;
    bool sure = false;  // the rank is that of every run
    bool operator==(const Seen&) const = default;
  };
  std::vector<Seen> values;
  std::set<int> negative;      // integers that a Gather takes, some of them below 0
  std::set<const Graph*> ran;  // bodies and branches
  std::vector<Datum> outputs;  // empty if the run failed
  std::string why_not;
};

struct Examples {
  Observed observed;          // all of them together; outputs: of the first
  std::vector<Example> list;  // none if the first failed
  Strings unreached;          // "the else_branch of node 'a', operator If": what none of them runs
};

/// The graph with the bodies of functions in place of their calls, simplified.
Graph prepared(Graph graph, const RunContext& context);
/// Observes one run. If `inputs` are too few, the declared types of inputs are all that is known.
Observed observe(const Graph& graph, const std::vector<Datum>& inputs, const RunContext& context);
/// Runs `inputs`, and variations of them that reach a body or a branch for the first time.
Examples examples_of(const Graph& graph, const std::vector<Datum>& inputs, const RunContext& context);
/// Throws LoadError that lists all nodes for which there is no C++.
Program lower(const Graph& graph, const Observed& observed, const std::string& file);

}  // namespace kiln::onnx::cpp

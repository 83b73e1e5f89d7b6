// C++ from an ONNX file: a struct of nn modules with a forward(), which can be trained, and its weights.
//
//   const onnx::GeneratedCode code = onnx::generate("resnet50.onnx", {});
//
// `kiln import` writes it; docs/onnx.md describes it. program.hpp lists the steps.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "kiln/onnx/summary.hpp"

namespace kiln::onnx {

struct GenerateOptions {
  std::string name = {};  // the name of the struct and the files; that of the ONNX file where left out
  Sizes sizes = {};       // sizes of free dimensions of example inputs
  std::string data = {};  // a data set (input_<i>.pb) to take examples from; else random
  bool untried = false;   // generate code also if the model throws on the examples, as the code would
};

struct Example {
  std::vector<Datum> inputs, outputs;
};

struct GeneratedCode {
  std::string name;                          // "resnet50": an identifier
  std::map<std::string, std::string> files;  // by name: header, source, test, CMakeLists.txt
  std::map<std::string, Value> weights;      // by the paths of the struct's fields
  std::vector<Example> examples;             // for the test: results of the model, on every branch that can be reached
  Strings unreached;                         // "the else_branch of node 'a', operator If": what no example runs
  std::string why_no_outputs;                // where there are no examples
  std::string type;                          // "Resnet50", in the namespace `name`
  std::string adapter;                       // C++: run(model, inputs), which takes and gives lists of Datum
};

/// Generates the same bytes for the same file. The types of values are those of a run of the model on the examples. Throws what load()
/// throws; a LoadError that lists all nodes for which there is no C++; and one with what a node throws on the examples,
/// since forward() would throw the same, unless `untried`.
GeneratedCode generate(const std::string& path, const GenerateOptions& options = {});

}  // namespace kiln::onnx

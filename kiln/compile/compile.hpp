// Compiles a captured graph ahead of time: to C that needs neither Kiln nor a heap.
//
//   const auto code = compile::compile({.graph = load_graph("classifier.safetensors", Device::parse("cpu"))},
//                                      {.name = "classifier", .target = "m4"});
//   // code.files: classifier.h and classifier.c
#pragma once
#include <map>
#include <string>
#include <vector>

#include "kiln/backend/capture/graph.hpp"
#include "kiln/core/dtype.hpp"

namespace kiln::compile {

/// A program to compile.
struct Source {
  Graph graph;
  std::vector<std::string> inputs{}, outputs{};  // names for people; fewer than there are, or none, are enough
  std::vector<Value> bound{};                    // tensors that the graph's last inputs stand for
};

struct CompileOptions {
  std::string name = "model";         // of the files and of all that they declare; what is no identifier is replaced
  std::string target = "host";        // a row of target.cpp
  DType weights = DType::F32;         // F16: float32 constants of more than 16 elements are kept as float16
  std::int64_t ram = -1, flash = -1;  // bytes; -1: those of the target; 0: not limited
};

struct CompiledCode {
  std::string name;                          // the identifier that all names begin with
  std::map<std::string, std::string> files;  // contents by name
  std::int64_t arena_bytes = 0, constant_bytes = 0;
  std::int64_t loops = 0, functions = 0;  // what run() calls, and how many functions these are
};

/// C11 that is C++17 as well: a header with the sizes and the function <name>_run, which returns 0, or the number of the
/// step that met an index out of range. Outputs equal those of the device cpu to the rounding of sums in another order.
/// Throws ArgumentError: for the list of all operations that have no form without a heap, for a target that does not
/// exist, and where the arena or the constants exceed the target's memory, with the steps that need most.
CompiledCode compile(const Source& source, const CompileOptions& options = {});

}  // namespace kiln::compile

// A fused program as one kernel: it loads what an element needs, computes the steps in registers, rounds halves after
// each, as the processor does, and stores the results.
#pragma once
#include "kiln/ops/expression/dialect.hpp"
#include "kiln/ops/planned/fused.hpp"

namespace kiln::expr {

/// How a kernel finds an input's elements.
struct Access {
  bool number = false;  // a plain number, the same for all elements, in what its type is computed in
  Dims strides{};       // of a tensor over the program's shape, 0 where it broadcasts
};

/// Does the dialect have the types and functions of the program?
bool supports(const Dialect& dialect, const op::Program& program);

/// What a device has to know to run a kernel's text.
struct KernelText {
  std::string text;           // a whole source file
  std::int64_t elements = 0;  // what is counted: elements, or rows where the program folds
  std::int64_t each = 1;      // how many of them an invocation takes: those that share a word of WGSL's memory
};

/// The kernel `name`. Its parameters are the inputs in order, the outputs, the results of folds, and the count of
/// elements:
///   C++     void name(const T* or T, ..., T*, ..., unsigned long long count); of CUDA and HIP a thread for each
///   GLSL    buffers at binding 0 and up, without the numbers; push constants: the count, then the numbers
///   WGSL    buffers of group 0 likewise, then a uniform: the count, then the numbers
/// Workgroups have 256 invocations. What folds goes row by row, an invocation each: any device can, and all that is
/// folded must be kept alike. Throws DTypeError where supports() says no.
KernelText print_kernel(const op::Program& program, std::span<const Access> inputs, const Dialect& dialect,
                        std::string_view name);

}  // namespace kiln::expr

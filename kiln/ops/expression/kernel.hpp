// Prints a fused program as one kernel: it loads the inputs of an element, computes the steps in registers, rounds
// halves after each step, as the CPU does, and stores the results.
#pragma once
#include "kiln/ops/expression/dialect.hpp"
#include "kiln/ops/planned/fused.hpp"

namespace kiln::expr {

/// How a kernel reads an input's elements.
struct Access {
  bool number = false;  // a plain number, the same for all elements, in the type that its type is computed in
  Dims strides{};       // of a tensor over the program's shape, 0 where it broadcasts
};

/// Whether the dialect has the types and functions of the program.
bool supports(const Dialect& dialect, const op::Program& program);

/// A kernel's text and the numbers that a device needs to run it.
struct KernelText {
  std::string text;           // a whole source file
  std::int64_t elements = 0;  // the count to pass: elements, or rows where the program has reductions
  std::int64_t each = 1;      // how many of them an invocation computes: those that share a word of WGSL's memory
};

/// Prints the kernel `name`. Its parameters are the inputs in order, the outputs, the results of reductions, and the
/// count of elements:
///   C++     void name(const T* or T, ..., T*, ..., unsigned long long count); in CUDA and HIP one thread each
///   GLSL    buffers at binding 0 and up, without the numbers; push constants: the count, then the numbers
///   WGSL    buffers of group 0 in the same order, then a uniform: the count, then the numbers
/// Workgroups have 256 invocations. A program with reductions runs row by row, one invocation each: any device can, and
/// all reductions must be over the same dimensions. Throws DTypeError where supports() returns false.
KernelText print_kernel(const op::Program& program, std::span<const Access> inputs, const Dialect& dialect,
                        std::string_view name);

}  // namespace kiln::expr

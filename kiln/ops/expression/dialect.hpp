// The languages that trees are printed in, as tables: which types of numbers one has, and which functions.
#pragma once
#include <array>
#include <span>

#include "kiln/ops/expression/tree.hpp"

namespace kiln::expr {

/// How a language writes a function: $0, $1 stand for the operands, $f for an f in single precision.
struct Native {
  std::string_view function;
  Numbers numbers;
  std::string_view text;
};

struct Dialect {
  enum class Syntax : std::uint8_t { Cpp, Glsl, Wgsl };
  Syntax syntax;
  std::string_view name;  // "GLSL"
  Numbers numbers;        // what it can compute in
  std::array<std::span<const Native>, 3> natives;
  std::string_view preamble;  // stands before everything else

  const Native* native(const Function& function, DType dtype) const;
  bool has(const Function& function, DType dtype) const { return native(function, dtype) != nullptr; }
  std::string_view type(DType dtype) const;  // of what `dtype` is computed in: "float"
  std::string_view word() const;
};

/// C++ for any compiler (g++, clang); CUDA's and HIP's is the same text but for some functions.
extern const Dialect kCpp, kCuda, kHip;
/// GLSL 4.50 for Vulkan. Its float64 has arithmetic and roots alone; integers of 64 bits need an extension.
extern const Dialect kGlsl;
/// WGSL as WebGPU has it, without extensions: float32 and integers of 32 bits.
extern const Dialect kWgsl;

/// Can the dialect compute the tree with numbers of `dtype`: has it the type, and each function or what that is made
/// of?
bool supports(const Dialect& dialect, const Tree& tree, DType dtype);
bool supports(const Dialect& dialect, const Function& function, DType dtype);

}  // namespace kiln::expr

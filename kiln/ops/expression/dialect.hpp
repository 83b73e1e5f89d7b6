// Tables of the languages that trees are printed in: the number types and the functions of each.
#pragma once
#include <array>
#include <span>

#include "kiln/ops/expression/tree.hpp"

namespace kiln::expr {

/// The text of a function in a language: $0, $1 stand for the operands, $f for an f in single precision.
struct Native {
  std::string_view function;
  Numbers numbers;
  std::string_view text;
};

struct Dialect {
  enum class Syntax : std::uint8_t { Cpp, Glsl, Wgsl };
  Syntax syntax;
  std::string_view name;  // "GLSL"
  Numbers numbers;        // the types it can compute in
  std::array<std::span<const Native>, 3> natives;
  std::string_view preamble;              // stands before everything else
  std::array<std::string_view, 6> types;  // float64, float32, int64, uint64, int32, uint32
  std::string_view wide;                  // the end of literals of 64-bit integers
  // Before the type of a float that is declared or returned, so that each operation on the way to it is rounded.
  std::string_view precise{};

  const Native* native(const Function& function, DType dtype) const;
  bool has(const Function& function, DType dtype) const { return native(function, dtype) != nullptr; }
  std::string_view type(DType dtype) const;  // of the type that `dtype` is computed in: "float"
  std::string_view word() const;
};

/// C++ for any compiler (g++, clang); CUDA's and HIP's differ in some functions only.
extern const Dialect kCpp, kCuda, kHip;
/// C11 that is C++17 as well, with <math.h> alone. It has no functions of several results.
extern const Dialect kC;
/// GLSL 4.50 for Vulkan. Its float64 has only arithmetic and roots; 64-bit integers need an extension.
extern const Dialect kGlsl;
/// The same for drivers that are told to round float16 to nearest even, and to keep its subnormals, infinities and NaN.
extern const Dialect kGlslHalves;
/// WGSL as WebGPU has it, without extensions: float32 and 32-bit integers.
extern const Dialect kWgsl;
/// Metal's C++, without float64.
extern const Dialect kMetal;

/// Whether the dialect can compute the tree with numbers of `dtype`: it has the type, and each function or the
/// functions of the library's definition.
bool supports(const Dialect& dialect, const Tree& tree, DType dtype);
bool supports(const Dialect& dialect, const Function& function, DType dtype);

}  // namespace kiln::expr

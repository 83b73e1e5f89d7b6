// Matrices that warps hold, as GLSL says them.
#pragma once
#include "kiln/backend/gpu/kernel/kernel.hpp"

namespace kiln::gpu {

/// GL_NV_cooperative_matrix knows a matrix by its sizes and by how wide its elements are. What it is used for, and
/// whether its halves are bfloat16, is said by the number of the specialization constant that its rows are: this one.
/// The SPIR-V's reader finds it there (vulkan/matrices.cpp).
inline constexpr std::uint32_t kMatrixConstants = 1024, kMatrixConstantsEnd = 2048;  // glslang takes 11 bits
constexpr std::uint32_t matrix_constant(const Kernel::Matrix& of) {
  return kMatrixConstants + of.rows * 8u + (of.dtype == DType::BF16 ? 4u : 0u) + static_cast<std::uint32_t>(of.use);
}
constexpr bool is_matrix_constant(std::uint32_t number) {
  return kMatrixConstants <= number && number < kMatrixConstantsEnd;
}
constexpr Kernel::Matrix::Use matrix_use(std::uint32_t number) { return static_cast<Kernel::Matrix::Use>(number & 3u); }
constexpr bool is_of_bfloat16(std::uint32_t number) { return number & 4u; }

}  // namespace kiln::gpu

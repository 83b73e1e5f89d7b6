// SPIR-V for matrices that warps hold. Kernels say them by GL_NV_cooperative_matrix, which glslang knows from version 11
// on; drivers of all makers have VK_KHR_cooperative_matrix. The instructions of the two are nearly the same, so that the
// words of a module are rewritten.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "kiln/backend/gpu/capabilities.hpp"
#include "kiln/backend/vulkan/instance.hpp"

namespace kiln::vulkan {

/// Asks a device that has VK_KHR_cooperative_matrix, which Debian 12's headers do not know, and the memory model that it
/// needs; without them there are none.
MatrixUnits matrix_units_of(const Api& api, VkInstance instance, const PhysicalDevice& device);

/// The features to be chained to those that a device is opened with, and the extensions; it must live until then.
class MatrixFeatures {
 public:
  explicit MatrixFeatures(const MatrixUnits& units);
  /// Chains them before `next`; returns the first.
  void* before(void* next);
  std::vector<const char*> extensions() const;

 private:
  struct Features {
    VkStructureType sType;
    void* pNext;
    VkBool32 enabled[3];
  };
  const bool has_matrices_, has_bfloat16_;
  Features matrices_, bfloat16_;
};

/// The module with SPV_KHR_cooperative_matrix's instructions in place of SPV_NV_cooperative_matrix's; a module without
/// any stays as it is. Throws DeviceError where it is no module of which that can be made.
std::vector<std::uint32_t> with_khr_matrices(std::span<const std::uint32_t> module);

}  // namespace kiln::vulkan

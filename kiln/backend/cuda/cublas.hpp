// The part of cuBLASLt, NVIDIA's library for products of matrices, that is used. Names and numbers are those of the
// chapter "Using the cuBLASLt API" of its reference, which are the same in versions 12 and 13.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kiln/backend/cuda/driver_api.hpp"

namespace kiln::cuda::cublas {

/// cublasStatus_t; 0 is success.
using Status = int;
inline constexpr Status kNotSupported = 15;

// cudaDataType_t
inline constexpr int kFloat32 = 0, kFloat64 = 1, kFloat16 = 2, kBfloat16 = 14;
// cublasComputeType_t
inline constexpr int kCompute32F = 68, kCompute64F = 70, kCompute32FFastTF32 = 77;
// cublasLtMatrixLayoutAttribute_t
inline constexpr int kLayoutBatchCount = 5, kLayoutStridedBatchOffset = 6;
// cublasLtMatmulDescAttributes_t
inline constexpr int kDescTransA = 3, kDescTransB = 4, kDescEpilogue = 7, kDescBiasPointer = 8;
// cublasOperation_t
inline constexpr std::int32_t kAsItIs = 0, kTransposed = 1;
// cublasLtEpilogue_t
inline constexpr std::uint32_t kEpilogueDefault = 1, kEpilogueRelu = 2, kEpilogueBias = 4, kEpilogueGelu = 32;
// cublasLtMatmulPreferenceAttributes_t
inline constexpr int kPreferenceMaxWorkspaceBytes = 1, kPreferenceMinAlignmentA = 5, kPreferenceMinAlignmentB = 6,
                     kPreferenceMinAlignmentC = 7, kPreferenceMinAlignmentD = 8;

using Handle = struct cublasLtContext*;
using Layout = struct cublasLtMatrixLayoutOpaque*;
using Description = struct cublasLtMatmulDescOpaque*;
using Preference = struct cublasLtMatmulPreferenceOpaque*;

struct Algorithm {
  std::uint64_t data[8];
};
struct Heuristic {
  Algorithm algorithm;
  std::size_t workspace_bytes;
  Status state;
  float waves;
  int reserved[4];
};
static_assert(sizeof(Heuristic) == 96);

struct Api {
  explicit Api(const SharedLibrary& library);

  Status (*create)(Handle* handle);
  Status (*destroy)(Handle handle);
  std::size_t (*get_version)();
  const char* (*get_status_string)(Status status);
  Status (*layout_create)(Layout* layout, int type, std::uint64_t rows, std::uint64_t columns, std::int64_t stride);
  Status (*layout_destroy)(Layout layout);
  Status (*layout_set)(Layout layout, int attribute, const void* value, std::size_t bytes);
  Status (*description_create)(Description* description, int compute_type, int scale_type);
  Status (*description_destroy)(Description description);
  Status (*description_set)(Description description, int attribute, const void* value, std::size_t bytes);
  Status (*preference_create)(Preference* preference);
  Status (*preference_destroy)(Preference preference);
  Status (*preference_set)(Preference preference, int attribute, const void* value, std::size_t bytes);
  Status (*get_heuristic)(Handle handle, Description description, Layout a, Layout b, Layout c, Layout d,
                          Preference preference, int wanted, Heuristic* results, int* found);
  /// Does cuBLASLt support that algorithm? Its requirements are stored in `result`.
  Status (*check)(Handle handle, Description description, Layout a, Layout b, Layout c, Layout d,
                  const Algorithm* algorithm, Heuristic* result);
  Status (*matmul)(Handle handle, Description description, const void* alpha, const void* a, Layout a_layout,
                   const void* b, Layout b_layout, const void* beta, const void* c, Layout c_layout, void* d,
                   Layout d_layout, const Algorithm* algorithm, void* workspace, std::size_t workspace_bytes,
                   StreamHandle stream);
};

/// The installed library. Throws DeviceError if there is none.
const Api& api();

}  // namespace kiln::cuda::cublas

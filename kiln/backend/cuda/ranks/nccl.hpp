// The part of NCCL, NVIDIA's library of collectives, that is used. Names and numbers are those of the chapter "NCCL
// API" of its user guide, which are the same in all versions 2.
#pragma once
#include <cstddef>

#include "kiln/backend/cuda/driver_api.hpp"

namespace kiln::cuda::nccl {

/// ncclResult_t; 0 is success.
using Status = int;
// ncclDataType_t
inline constexpr int kInt8 = 0, kUint8 = 1, kInt32 = 2, kUint32 = 3, kInt64 = 4, kUint64 = 5, kFloat32 = 7,
                     kFloat64 = 8;
// ncclRedOp_t
inline constexpr int kSum = 0, kAverage = 4;

using Group = struct ncclComm*;

/// ncclUniqueId: one rank creates it, and all join with it.
struct UniqueId {
  char bytes[128];
};

struct Api {
  explicit Api(const SharedLibrary& library);

  Status (*get_version)(int* version);
  const char* (*get_error_string)(Status status);
  /// Since version 2.13; null before.
  const char* (*get_last_error)(Group group);
  Status (*get_unique_id)(UniqueId* unique_id);
  Status (*init_rank)(Group* group, int ranks, UniqueId unique_id, int rank);
  Status (*abort)(Group group);
  Status (*all_reduce)(const void* x, void* result, std::size_t count, int type, int how, Group group,
                       StreamHandle stream);
  Status (*reduce_scatter)(const void* x, void* result, std::size_t count, int type, int how, Group group,
                           StreamHandle stream);
  Status (*all_gather)(const void* x, void* result, std::size_t count, int type, Group group, StreamHandle stream);
  Status (*broadcast)(const void* x, void* result, std::size_t count, int type, int root, Group group,
                      StreamHandle stream);
};

/// The installed library. Throws DeviceError if there is none.
const Api& api();

}  // namespace kiln::cuda::nccl

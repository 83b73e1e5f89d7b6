#include "kiln/backend/cuda/ranks/nccl.hpp"

namespace kiln::cuda::nccl {

Api::Api(const SharedLibrary& library) {
  library.find("ncclGetVersion", get_version);
  library.find("ncclGetErrorString", get_error_string);
  library.find_if_there("ncclGetLastError", get_last_error);
  library.find("ncclGetUniqueId", get_unique_id);
  library.find("ncclCommInitRank", init_rank);
  library.find("ncclCommAbort", abort);
  library.find("ncclAllReduce", all_reduce);
  library.find("ncclReduceScatter", reduce_scatter);
  library.find("ncclAllGather", all_gather);
  library.find("ncclBroadcast", broadcast);
}

const Api& api() {
  static const SharedLibrary library(
      "cuda", "carries tensors between GPUs", {"libnccl.so.2"},
      "install NVIDIA's NCCL (Debian: libnccl2; or the Python package nvidia-nccl-cu13)");
  static const Api opened(library);
  return opened;
}

}  // namespace kiln::cuda::nccl

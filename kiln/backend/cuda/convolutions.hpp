// Convolutions by cuDNN. What it is asked for is described to it once, and the first plan kept that it advises and that
// computes as exactly as our own kernels do.
#pragma once
#include <array>
#include <memory>
#include <unordered_map>

#include "kiln/backend/cuda/cudnn.hpp"
#include "kiln/backend/cuda/stream.hpp"
#include "kiln/backend/gpu/convolution.hpp"
#include "kiln/core/reflect/signature.hpp"

namespace kiln::cuda {

class Convolutions {
 public:
  explicit Convolutions(Ref<Stream> stream);
  ~Convolutions();

  class Plan;
  using Addresses = std::array<void*, 3>;  // of x, weight and y
  static Addresses addresses(const gpu::Convolution& convolution) {
    return {convolution.x.data, convolution.weight.data, convolution.y.data};
  }

  /// How such a convolution is made. Null where cuDNN is missing, which is said once, is not wanted or does not know how.
  const Plan* find(const gpu::Convolution& convolution);
  /// Has it run? It can be asked for later, then, and will not fail.
  bool proven(const Plan& plan);
  /// Runs it for the first time. False where it fails, and from then on it is not known how.
  bool prove(const Plan& plan, const Addresses& addresses);
  /// Throws DeviceError where it fails.
  void convolve(const Plan& plan, const Addresses& addresses);

 private:
  bool open();
  std::unique_ptr<Plan> make(const gpu::Convolution& convolution);
  bool reserve_workspace(std::int64_t least);
  cudnn::Status run(const Plan& plan, const Addresses& addresses);

  const Ref<Stream> stream_;
  const bool wanted_, tf32_, logs_;
  std::mutex mutex_;
  const cudnn::Api* api_ = nullptr;  // since the first convolution
  bool missing_ = false;
  cudnn::Handle handle_ = nullptr;
  Address workspace_ = 0;  // since a plan needs one
  std::int64_t workspace_bytes_ = 0;
  struct Hash {
    std::size_t operator()(const Signature& signature) const { return signature.hash(); }
  };
  std::unordered_map<Signature, std::pair<OwnSignature, std::unique_ptr<Plan>>, Hash> plans_;  // null: not known how
};

}  // namespace kiln::cuda

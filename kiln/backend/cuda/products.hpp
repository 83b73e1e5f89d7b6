// Products of matrices by cuBLASLt. What it is asked for is described to it once, and the algorithm that it advises kept.
#pragma once
#include <memory>
#include <unordered_map>

#include "kiln/backend/cuda/cublas.hpp"
#include "kiln/backend/cuda/stream.hpp"
#include "kiln/backend/gpu/product.hpp"
#include "kiln/core/reflect/signature.hpp"

namespace kiln::cuda {

class Products {
 public:
  explicit Products(Ref<Stream> stream);
  ~Products();
  /// False where cuBLASLt is missing, which is said once, or does not know how. Throws DeviceError where it should.
  bool multiply(const gpu::Product& product);

  class Plan;
  /// How a product is made, if one like it was before: it can be asked for later, then, and will not fail. Null otherwise.
  const Plan* proven(const gpu::Product& product);
  void multiply(const Plan& plan, const gpu::Product& product);

 private:
  bool open();
  bool run(const Plan& plan, const gpu::Product& product);
  const Plan* find(const gpu::Product& product);

  const Ref<Stream> stream_;
  const bool tf32_;
  std::mutex mutex_;
  const cublas::Api* api_ = nullptr;  // since the first product
  bool missing_ = false;
  cublas::Handle handle_ = nullptr;
  Address workspace_ = 0;
  std::size_t workspace_bytes_ = 0;
  struct Hash {
    std::size_t operator()(const Signature& signature) const { return signature.hash(); }
  };
  std::unordered_map<Signature, std::pair<OwnSignature, std::unique_ptr<Plan>>, Hash> plans_;  // null: not known how
};

}  // namespace kiln::cuda

// Products of matrices by cuBLASLt. Each request is described to it once, and the algorithm that it suggests is cached.
#pragma once
#include <memory>
#include <unordered_map>

#include "kiln/backend/cuda/cublas.hpp"
#include "kiln/backend/cuda/driver_api.hpp"
#include "kiln/backend/cuda/tune/choices.hpp"
#include "kiln/backend/gpu/product.hpp"
#include "kiln/backend/streams/memory.hpp"
#include "kiln/core/reflect/signature.hpp"

namespace kiln::cuda {

class Products {
 public:
  Products(Ref<Stream> stream, MemoryBudget& budget);
  Products(Ref<Stream> stream, MemoryBudget& budget, Choices choices);
  ~Products();
  /// Waits for the device if algorithms are to be compared (choices.hpp), once per kind of product. Returns false if
  /// cuBLASLt is missing, which is reported once, or does not support the product. Throws DeviceError if it fails.
  bool multiply(const gpu::Product& product);

  class Plan;
  /// The plan of a product like one that has run before: it can be queued, and will not fail. Null otherwise.
  const Plan* proven(const gpu::Product& product);
  void multiply(const Plan& plan, const gpu::Product& product);

 private:
  bool open();
  bool run(const Plan& plan, const gpu::Product& product);
  std::optional<const Plan*> find(const gpu::Product& product) const;
  const Plan* make(const gpu::Product& product);
  void choose(Plan& plan, std::span<const std::uint64_t> plan_key, const gpu::Product& product);

  const Ref<Stream> stream_;
  const Choices choices_;
  std::mutex mutex_;
  const cublas::Api* api_ = nullptr;  // loaded on first use
  bool missing_ = false;
  cublas::Handle handle_ = nullptr;
  streams::Workspace workspace_;
  struct Hash {
    std::size_t operator()(const Signature& signature) const { return signature.hash(); }
  };
  std::unordered_map<Signature, std::pair<StoredSignature, std::unique_ptr<Plan>>, Hash> plans_;  // null: not supported
};

}  // namespace kiln::cuda

// Choices: the fastest of cuBLASLt's algorithms for each product, measured once on a GPU if KILN_AUTOTUNE is 1, and
// kept on disk for later processes. Otherwise the first one that cuBLASLt suggests is used, without waiting.
#pragma once
#include <optional>
#include <vector>

#include "kiln/backend/cuda/cublas.hpp"
#include "kiln/backend/cuda/stream.hpp"
#include "kiln/backend/gpu/code_cache.hpp"
#include "kiln/core/function_ref.hpp"

namespace kiln::cuda {

class Choices {
 public:
  /// How many algorithms are compared.
  static constexpr int kMost = 16;

  explicit Choices(Ref<Stream> stream, gpu::CodeCache cache = gpu::CodeCache::named("cuda-products"));
  /// Is KILN_AUTOTUNE 1?
  bool wanted() const { return wanted_; }

  /// The algorithm that was kept for a question, which holds all that cuBLASLt is asked, for this version and model of
  /// GPU.
  std::optional<cublas::Algorithm> find(std::span<const std::uint64_t> question, std::size_t version) const;
  void keep(std::span<const std::uint64_t> question, std::size_t version, const cublas::Algorithm& algorithm) const;

  /// The one of `count` that takes the device the least time; run(i) submits it to the stream, and returns false if it
  /// cannot. Waits for the device. None if none can run.
  std::optional<int> quickest(int count, FunctionRef<bool(int)> run) const;

 private:
  std::string key(std::span<const std::uint64_t> question, std::size_t version) const;

  const Ref<Stream> stream_;
  const gpu::CodeCache cache_;
  const bool wanted_, logs_;
};

}  // namespace kiln::cuda

// Which of cuBLASLt's algorithms is the quickest for a product: measured once on a GPU where KILN_AUTOTUNE is 1, and kept on
// the disk for the processes after this. Otherwise the first is taken that cuBLASLt advises, and nobody waits.
#pragma once
#include <optional>
#include <vector>

#include "kiln/backend/cuda/code_cache.hpp"
#include "kiln/backend/cuda/cublas.hpp"
#include "kiln/backend/cuda/stream.hpp"
#include "kiln/core/function_ref.hpp"

namespace kiln::cuda {

class Choices {
 public:
  /// Algorithms that are compared.
  static constexpr int kMost = 16;

  explicit Choices(Ref<Stream> stream, CodeCache cache = CodeCache::named("cuda-products"));
  /// KILN_AUTOTUNE is 1.
  bool wanted() const { return wanted_; }

  /// What was kept for a question, which is all that cuBLASLt is asked; of this version of it, on this model of GPU.
  std::optional<cublas::Algorithm> find(std::span<const std::uint64_t> question, std::size_t version) const;
  void keep(std::span<const std::uint64_t> question, std::size_t version, const cublas::Algorithm& algorithm) const;

  /// The one of `count` that takes the device least time; run(i) asks the stream for it, and is false where it cannot be.
  /// Waits for the device. None where none can.
  std::optional<int> quickest(int count, FunctionRef<bool(int)> run) const;

 private:
  std::string key(std::span<const std::uint64_t> question, std::size_t version) const;

  const Ref<Stream> stream_;
  const CodeCache cache_;
  const bool wanted_, logs_;
};

}  // namespace kiln::cuda

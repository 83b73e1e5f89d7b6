// An NVIDIA GPU as a Driver: everything but collectives of ranks runs in one stream. Kernels are compiled by NVRTC from
// the text that gpu/kernel/print/print.hpp writes; products use cuBLASLt, convolutions and attention cuDNN.
#pragma once
#include "kiln/backend/cuda/dnn.hpp"
#include "kiln/backend/cuda/nvrtc.hpp"
#include "kiln/backend/cuda/products.hpp"
#include "kiln/backend/cuda/ranks/groups.hpp"
#include "kiln/backend/streams/driver.hpp"

namespace kiln::cuda {

class Driver final : public StreamDriver, public gpu::Library, public gpu::Collectives {
 public:
  /// Throws DeviceError if the machine has no such device, or no driver.
  explicit Driver(int index);
  ~Driver() override { queue().forget(); }

  gpu::Library* library() override { return this; }
  Worth worth() const override { return worth_; }
  bool multiply(const gpu::Product& product) override;
  bool convolve(const gpu::Convolution& convolution) override;
  bool attend(const gpu::Attention& attention) override;
  std::int64_t attention_workspace(const gpu::Attention& attention) override;

  gpu::Collectives* collectives() override { return this; }
  bool can_start_collectives(Communicator& among) override;
  std::uint64_t start_collective(Communicator& among, const gpu::Collective& collective) override;
  void wait_for_collective(std::uint64_t collective) override;

  gpu::Language language() const override { return gpu::Language::Cuda; }

 private:
  explicit Driver(const Ref<Stream>& stream);
  bool run(const Dnn::Plan& plan, Dnn::Addresses addresses, const std::byte* workspace = nullptr);
  void multiply(const void* plan, const gpu::Product& product) override;
  void run(const void* plan, std::span<const std::uint64_t> words) override;

  const Worth worth_;
  Products products_;
  Dnn dnn_;
  NcclGroups groups_;
};

}  // namespace kiln::cuda

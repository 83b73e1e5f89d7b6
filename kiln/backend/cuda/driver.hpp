// An NVIDIA GPU as a Driver: everything but collectives of ranks runs in one stream, or in that of the thread that
// asks. Kernels are compiled by NVRTC from the text that gpu/kernel/print/print.hpp writes; products use cuBLASLt,
// convolutions and attention cuDNN.
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
  ~Driver() override { forget(); }

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
  void multiply(const Stream& stream, const void* plan, const gpu::Product& product) override;
  void run(const Stream& stream, const void* plan, std::span<const std::uint64_t> words) override;
  void prepare(const Ref<Stream>& stream) override;

  /// Handles, plans and workspaces, which a stream has of its own.
  struct Libraries {
    Libraries(const Ref<Stream>& stream, MemoryBudget& budget) : products(stream, budget), dnn(stream, budget) {}
    Products products;
    Dnn dnn;
  };
  Libraries& libraries(int stream) { return *libraries_[static_cast<std::size_t>(stream)]; }
  Libraries& libraries() { return libraries(gpu::stream_of(*this)); }

  const Worth worth_;
  std::array<std::unique_ptr<Libraries>, gpu::kMostStreams> libraries_;  // by stream
  NcclGroups groups_;                                                    // of the first stream
};

}  // namespace kiln::cuda

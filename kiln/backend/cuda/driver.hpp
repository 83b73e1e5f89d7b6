// An NVIDIA GPU as a Driver: everything but collectives of ranks runs in one stream. Kernels are compiled by NVRTC from
// the text that gpu/kernel/print/print.hpp writes; products use cuBLASLt, convolutions and attention cuDNN.
#pragma once
#include "kiln/backend/cuda/compiler.hpp"
#include "kiln/backend/cuda/download.hpp"
#include "kiln/backend/cuda/queue.hpp"
#include "kiln/backend/cuda/ranks/groups.hpp"
#include "kiln/backend/cuda/upload.hpp"
#include "kiln/backend/gpu/cuda_text.hpp"
#include "kiln/backend/gpu/driver.hpp"

namespace kiln::cuda {

class Driver final : public gpu::Driver, public gpu::Library, public gpu::Collectives, public gpu::CudaCompiler {
 public:
  /// Throws DeviceError if the machine has no such device, or no driver.
  explicit Driver(int index);

  std::string name() const override { return stream_->device(); }
  const gpu::Capabilities& capabilities() const override { return capabilities_; }
  BlockSource& memory() override { return memory_; }

  Ref<gpu::Code> compile(const gpu::Kernel& kernel) override;
  void launch(const gpu::Code& code, std::int64_t blocks, std::span<const std::uint64_t> arguments) override;
  void upload(std::byte* to, std::span<const std::byte> from) override;
  Ref<gpu::Transfer> download(const std::byte* from, std::size_t bytes) override;
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override;
  void clear(std::byte* start, std::size_t bytes) override;
  void flush() override { queue_.flush(); }
  void synchronize() override;

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

  gpu::CudaCompiler* cuda() override { return this; }
  Ref<gpu::Code> compile(const gpu::CudaText& kernel) override;

 private:
  Ref<Program> load(Program::ProgramTraits traits, const std::string& text);
  bool run(const Dnn::Plan& plan, Dnn::Addresses addresses, const std::byte* workspace = nullptr);

  const Ref<Stream> stream_;
  const gpu::Capabilities capabilities_;
  const Worth worth_;
  const Compiler compiler_;
  DeviceMemory memory_;
  Uploads uploads_;
  const Ref<Downloads> downloads_;
  Products products_;
  Dnn dnn_;
  Queue queue_;
  NcclGroups groups_;
};

}  // namespace kiln::cuda

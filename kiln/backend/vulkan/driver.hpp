// A GPU of any maker as a Driver: everything runs in one queue. Kernels are printed as GLSL with references to buffers
// (gpu/kernel/print/print.hpp), which glslang compiles to SPIR-V in this process, and the GPU's driver to its code.
#pragma once
#include "kiln/backend/gpu/driver.hpp"
#include "kiln/backend/vulkan/download.hpp"

namespace kiln::vulkan {

class Driver final : public gpu::Driver, public gpu::TextCompiler {
 public:
  /// Throws DeviceError if the machine has no such device.
  explicit Driver(int index) : Driver(Instance::get(), index) {}
  Driver(const Instance& instance, int index, const ContextOptions& options = {},
         gpu::CodeCache cache = gpu::CodeCache::named("vulkan"));
  ~Driver() override { queue_->settle(); }

  std::string identity() const override;
  std::string name() const override { return context_->name(); }
  const gpu::Capabilities& capabilities() const override { return capabilities_; }
  BlockSource& memory() override { return memory_; }
  void acquired(std::byte* start, std::size_t bytes) override { tensors_.acquired(start, bytes); }
  void released(std::byte* start, std::size_t) override { tensors_.released(start); }

  /// Throws gpu::Refused where glslang or the GPU's driver does not take the kernel.
  Ref<gpu::Code> compile(const gpu::Kernel& kernel) override { return compiler_.compile(kernel); }
  gpu::TextCompiler* texts() override { return this; }
  gpu::Language language() const override { return gpu::Language::Glsl; }
  Ref<gpu::Code> compile_text(const gpu::TextKernel& kernel) override { return compiler_.compile(kernel); }
  void launch(const gpu::Code& code, std::int64_t blocks, std::span<const std::uint64_t> arguments) override;
  void upload(std::byte* to, std::span<const std::byte> from) override;
  Ref<gpu::Transfer> download(const std::byte* from, std::size_t bytes) override;
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override;
  void clear(std::byte* start, std::size_t bytes) override;
  void flush() override { queue_->flush(); }
  void synchronize() override { queue_->finish(); }

  const Context& context() const { return *context_; }
  const Compiler& compiler() const { return compiler_; }

 private:
  const Ref<Context> context_;
  const gpu::Capabilities capabilities_;
  const Compiler compiler_;
  const Ref<Queue> queue_;
  DeviceMemory memory_;
  Tensors tensors_;
  const Ref<Downloads> downloads_;
};

}  // namespace kiln::vulkan

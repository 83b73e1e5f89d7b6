// A GPU through WebGPU, as a Driver. Kernels are WGSL, written by gpu/kernel/print from what lowering leaves; buffers
// are bound by ranges, and those of one tensor share a binding.
#pragma once
#include "kiln/backend/gpu/driver.hpp"
#include "kiln/backend/webgpu/download.hpp"
#include "kiln/backend/webgpu/program.hpp"

namespace kiln::webgpu {

class Driver final : public gpu::Driver, public gpu::TextCompiler {
 public:
  Driver(const Provider& provider, const Adapter& adapter);

  std::string name() const override { return "webgpu"; }
  const gpu::Capabilities& capabilities() const override { return capabilities_; }
  BlockSource& memory() override { return memory_; }
  void acquired(std::byte* start, std::size_t bytes) override { memory_.acquired(address_of(start), bytes); }
  void released(std::byte* start, std::size_t) override { memory_.released(address_of(start)); }

  std::string identity() const override { return identity_; }
  Ref<gpu::Code> compile(const gpu::Kernel& kernel) override;
  gpu::TextCompiler* texts() override { return this; }
  gpu::Language language() const override { return gpu::Language::Wgsl; }
  Ref<gpu::Code> compile_text(const gpu::TextKernel& kernel) override;
  void launch(const gpu::Code& code, std::int64_t blocks, std::span<const std::uint64_t> arguments) override;
  void upload(std::byte* to, std::span<const std::byte> from) override;
  Ref<gpu::Transfer> download(const std::byte* from, std::size_t bytes) override;
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override;
  void clear(std::byte* start, std::size_t bytes) override;
  void flush() override;
  void synchronize() override;

 private:
  void demand_fitting(const gpu::Kernel& kernel, std::int64_t blocks, std::span<const std::uint64_t> arguments) const;
  GroupEntry entry_of(const gpu::Kernel& kernel, std::size_t parameter, std::uint64_t base,
                      std::uint64_t address) const;
  /// The bytes, of so many there, that can be written as whole words.
  std::uint64_t whole_words(std::uint64_t to, std::uint64_t bytes) const;
  void copy_at(std::uint64_t to, std::uint64_t from, std::uint64_t bytes);
  void copy_by(const Program& program, std::uint64_t to, std::uint64_t from, std::uint64_t count);

  const std::string identity_;
  const Ref<Session> session_;
  const gpu::Capabilities capabilities_;
  Recorder recorder_;
  DeviceMemory memory_;
  const Ref<Downloads> downloads_;
  const std::uint64_t zeros_, staged_;  // addresses of memory of our own
  std::mutex staging_;
  const Ref<Program> copy_words_, copy_bytes_;
};

}  // namespace kiln::webgpu

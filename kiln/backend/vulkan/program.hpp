// Program: a kernel as a pipeline; and the compiler that makes it, with what it keeps on disk.
#pragma once
#include <vector>

#include "kiln/backend/gpu/code_cache.hpp"
#include "kiln/backend/gpu/driver.hpp"
#include "kiln/backend/gpu/kernel/print/targets.hpp"
#include "kiln/backend/vulkan/context.hpp"

namespace kiln::vulkan {

class Program final : public gpu::Code {
 public:
  Program(Ref<Context> context, gpu::Kernel kernel, VkPipeline pipeline);
  ~Program() override;

  const std::string& name() const { return kernel_.name; }
  /// The kernel, but without its body.
  const gpu::Kernel& kernel() const { return kernel_; }
  VkPipeline pipeline() const { return pipeline_; }
  /// The bytes that a launch passes: the arguments of the kernel, which may have been lowered, and its uniform block.
  std::vector<std::uint64_t> passed(std::int64_t blocks, std::span<const std::uint64_t> arguments) const;

 private:
  const Ref<Context> context_;
  const gpu::Kernel kernel_;
  const VkPipeline pipeline_;
};

class Compiler {
 public:
  explicit Compiler(Ref<Context> context, gpu::CodeCache cache = gpu::CodeCache::named("vulkan"));
  /// The program of a kernel that the device's capabilities allow. Throws gpu::Refused, with the words of the compiler
  /// and the text, where glslang or the driver does not take it. Thread-safe.
  Ref<Program> compile(const gpu::Kernel& kernel) const;
  /// Compiles a text that is not the kernel's own (tests).
  Ref<Program> compile(const gpu::Kernel& kernel, const std::string& text) const;
  /// Compiles a user's text. It may have blocks of any size.
  Ref<Program> compile(const gpu::TextKernel& kernel) const;

 private:
  std::vector<std::uint32_t> spirv(const std::string& name, const std::string& text) const;
  /// `sets_lanes`: blocks consist of whole warps of kLanes threads.
  VkPipeline pipeline(const std::string& name, const std::string& text, std::span<const std::uint32_t> words,
                      bool sets_lanes) const;
  VkResult create(VkShaderModule module, VkPipelineCache cache, bool sets_lanes, VkPipeline* pipeline) const;

  const Ref<Context> context_;
  const gpu::CodeCache cache_;
  const std::string controls_;  // float_controls_of()
  const gpu::Target& target_;
  const std::string driver_;  // all that the driver's code depends on besides the text
  const bool logs_;
};

}  // namespace kiln::vulkan

// Program: a kernel that the device has compiled, in the forms in which it is launched.
#pragma once
#include <map>

#include "kiln/backend/gpu/driver.hpp"
#include "kiln/backend/gpu/kernel/print/print.hpp"
#include "kiln/backend/webgpu/session.hpp"

namespace kiln::webgpu {

/// A compute pipeline, with the layout of what it binds.
class Pipeline {
 public:
  /// Throws gpu::Refused, with the kernel's name, the compiler's words and the text, where it does not compile.
  Pipeline(Ref<Session> session, gpu::Kernel kernel);
  /// Compiles a text that is not the kernel's own, which says no more than what is bound.
  Pipeline(Ref<Session> session, gpu::Kernel kernel, const gpu::KernelText& text);
  ~Pipeline();
  Pipeline(const Pipeline&) = delete;
  Pipeline& operator=(const Pipeline&) = delete;

  const gpu::Kernel& kernel() const { return kernel_; }
  PipelineHandle handle() const { return handle_; }
  GroupLayoutHandle layout() const { return layout_; }

 private:
  void make(const std::string& text, const std::string& function);
  GroupLayoutHandle make_layout() const;
  void release();

  const Ref<Session> session_;
  const gpu::Kernel kernel_;
  PipelineHandle handle_ = nullptr;
  GroupLayoutHandle layout_ = nullptr;
};

/// Thread-safe.
class Program final : public gpu::Code {
 public:
  Program(Ref<Session> session, const gpu::Kernel& kernel) : session_(session), plain_(session, kernel) {}
  /// A kernel that a user wrote in WGSL.
  Program(Ref<Session> session, const gpu::TextKernel& kernel);

  const Pipeline& plain() const { return plain_; }
  bool is_text() const { return is_text_; }
  /// The kernel with one binding for parameters that lie in one piece of memory (gpu::sharers_of). Throws DeviceError
  /// for a user's text that is given some.
  const Pipeline& sharing(const std::vector<std::uint16_t>& sharers) const;

 private:
  const Ref<Session> session_;
  const Pipeline plain_;
  const bool is_text_ = false;
  mutable std::mutex mutex_;
  mutable std::map<std::vector<std::uint16_t>, std::unique_ptr<Pipeline>> sharing_;
};

}  // namespace kiln::webgpu

// Program: a compiled kernel, loaded.
#pragma once
#include <vector>

#include "kiln/backend/cuda/stream.hpp"
#include "kiln/backend/gpu/driver.hpp"
#include "kiln/backend/gpu/kernel/print.hpp"

namespace kiln::cuda {

class Program final : public gpu::Code {
 public:
  Program(Ref<Stream> stream, const gpu::Kernel& kernel, const gpu::KernelText& text,
          const std::vector<std::byte>& code);
  ~Program() override { stream_->last_api().module_unload(module_); }
  FunctionHandle function() const { return function_; }

  const std::string name;
  const unsigned threads, shared_bytes;
  const std::size_t parameters;

 private:
  const Ref<Stream> stream_;
  ModuleHandle module_ = nullptr;
  FunctionHandle function_ = nullptr;
};

inline constexpr std::size_t kMostParameters = 512;  // 4 KiB

}  // namespace kiln::cuda

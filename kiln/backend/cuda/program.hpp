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
  const std::vector<std::size_t> words;  // where the arguments of each parameter begin; last how many there are

 private:
  const Ref<Stream> stream_;
  ModuleHandle module_ = nullptr;
  FunctionHandle function_ = nullptr;
};

}  // namespace kiln::cuda

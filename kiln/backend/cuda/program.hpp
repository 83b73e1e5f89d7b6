// Program: a compiled kernel, loaded.
#pragma once
#include <vector>

#include "kiln/backend/cuda/stream.hpp"
#include "kiln/backend/gpu/driver.hpp"

namespace kiln::cuda {

class Program final : public gpu::Code {
 public:
  /// What is known of it beside its code.
  struct Facts {
    std::string name, function;
    int threads;
    std::int64_t shared_bytes;
    std::vector<std::size_t> words;  // where the arguments of each parameter begin; last how many there are
    bool together = false;           // its blocks wait for each other
  };
  Program(Ref<Stream> stream, Facts facts, const std::vector<std::byte>& code);
  ~Program() override { stream_->last_api().module_unload(module_); }
  FunctionHandle function() const { return function_; }
  /// For text that others wrote: throws DeviceError where the function has other parameters, as far as the driver knows them.
  void require_parameters() const;

  const std::string name;
  const unsigned threads, shared_bytes;
  const bool together;
  const std::vector<std::size_t> words;

 private:
  const Ref<Stream> stream_;
  ModuleHandle module_ = nullptr;
  FunctionHandle function_ = nullptr;
};

}  // namespace kiln::cuda
